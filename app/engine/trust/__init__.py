"""What a folder brings, whether the person trusts it, and which files a run left that run by themselves later."""
