# Outlives the test program, and clears up after it. Arguments: the server's folder, the signal that ends the server.
# Each line of standard input is the id of the server's process, or empty when there is none. The input ends when the
# test program does, however that came about.
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill "-$2" "$pid"
    tries=100
    # A process that has ended but was not yet waited for still has its number, but no program.
    while [ "$tries" -gt 0 ] && [ -e "/proc/$pid/exe" ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    kill -KILL "$pid"
fi
rm -rf -- "$1"
