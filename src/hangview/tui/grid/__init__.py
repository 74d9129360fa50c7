"""The rank × sequence grid: cells of one lane, folded, zoomed, drawn a line at a time."""
