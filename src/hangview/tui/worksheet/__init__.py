"""The incident worksheet as a form. How the app mounts it::

    screen = WorksheetScreen(SheetStore(), incident, ascii_only=False)   # once the first incident is there
    app.install_screen(screen, "worksheet")                              # installed, so that closing it loses nothing
    app.push_screen("worksheet")                                         # w
    screen.update_incident(incident)        # at every new incident, open or not: offers changes, never overwrites
    screen.add_finding(finding)             # sends a finding into section 7; returns a line to say ("sent to …")
    app.push_screen(screen.save_dialog())   # s outside of it; answers SaveResult or None
    screen.unsaved                          # whether to say a word before quitting
    screen.flush()                          # SIGHUP, SIGTERM, quit: keeps the draft now; "" or why it could not be kept

``add_finding``, ``update_incident``, ``save_dialog``, ``unsaved`` and ``flush`` work before it was ever shown. The style sheet
comes with the screen. What the keys do is the table ``hangview.tui.worksheet.keys.ACTIONS``, made of the same ``Action`` as the
app's, for help and manual. It uses the theme variables of ``hangview.tui.colours``.
"""
