"""Where models come from, one file a site: a reference becomes a plan of what to fetch and from where."""
