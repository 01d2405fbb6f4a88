"""Models that are on disk already: the layouts in which other programs keep them, one file a layout."""
