"""What the panes say: plain functions from an Incident to prose. No textual, no verdicts of their own."""
