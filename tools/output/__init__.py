"""From bytes of a command to the text a model may see."""
