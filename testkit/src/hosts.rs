//! URLs with several hosts.

/// One URL with the hosts of several, which have the same user and database.
pub(crate) fn url_of(urls: &[String]) -> String {
    let host =
        |url: &String| url.rsplit_once('@').and_then(|(_, rest)| rest.split_once('/')).map(|(host, _)| host.to_owned());
    let hosts: Vec<String> = urls.iter().filter_map(host).collect();
    let (before, rest) = urls[0].rsplit_once('@').expect("the URL of a server has a user");
    let (_, database) = rest.split_once('/').expect("the URL of a server has a database");
    format!("{before}@{}/{database}", hosts.join(","))
}

/// The port in the URL of a server.
pub(crate) fn port_of(url: &str) -> Option<&str> {
    let (host, _) = url.rsplit_once('@')?.1.split_once('/')?;
    host.rsplit_once(':').map(|(_, port)| port)
}
