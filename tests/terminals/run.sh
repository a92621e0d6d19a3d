#!/usr/bin/env bash
# Installs the terminals that Debian has, starts slug in each of them under Xvfb, types with X key events, and
# says what worked and what is left behind at the end (drive.py). Needs root for apt; not part of `cargo test`.
#
#   tests/terminals/run.sh                     all terminals
#   tests/terminals/run.sh kitty xterm:light   some of them, on one background
#
# Screenshots, traffic and results are in target/terminals/NAME-dark and NAME-light. Look at the screenshots:
# the text that is compared is what slug wrote, not what the terminal drew.
set -euo pipefail

cd "$(dirname "$0")/../.."

apt-get install -y -q --no-install-recommends \
  xvfb xdotool openbox xclip imagemagick libgl1-mesa-dri libegl1 fonts-dejavu-core dbus-x11 dconf-cli \
  libglib2.0-bin weston python3 python3-pyte \
  xterm rxvt-unicode stterm alacritty kitty foot konsole gnome-terminal xfce4-terminal tmux screen

cargo build
dpkg-query -W -f '${Package} ${Version}\n' \
  xterm rxvt-unicode stterm alacritty kitty foot konsole gnome-terminal xfce4-terminal tmux screen
# Debian's own python3, which has the packages.
exec /usr/bin/python3 tests/terminals/drive.py target/debug/slug target/terminals "$@"
