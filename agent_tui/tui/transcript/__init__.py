"""The scrolling part of the screen: blocks, their renderers, and the one view that draws them."""
