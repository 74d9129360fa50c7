"""What stands over the main screen for a moment: help, commands, the word before quitting."""
