"""``python -m nslimb`` is the command ``nslimb``."""

from nslimb.cli import app

if __name__ == "__main__":
    app(prog_name="nslimb")
