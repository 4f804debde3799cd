"""The interactive loop and the session it drives; knows no screen."""
