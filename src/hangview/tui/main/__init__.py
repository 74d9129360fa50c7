"""The main screen: banner, groups, grid, call and finding, status and keys."""
