"""What a model may call by name, beside code for a kernel: what a tool is, which there are, how a call is run.

Imports core, kernels (for the caps on output), policy (for what a call does) and text (for the forms of results). The
agent asks it which tools to offer and who runs a call; plugins make tools of their own. `execute`, the tool that every
model is offered first, is a spec only: a call of it comes to code for a kernel.
"""
