#!/bin/sh
# Installs Evergraph's server on Debian and its like: the program, the user `evergraph`, folders, and the service.
#
#   packaging/install.sh PROGRAM               a service of systemd; it is not started
#   packaging/install.sh PROGRAM --container   an image (packaging/Dockerfile): /data in place of /var/lib, no service
#
# It needs root. Run it again to install another version: settings and databases stay as they are.
set -eu

here=$(dirname "$0")
kind=service
program=
for argument in "$@"; do
    case $argument in
        --container) kind=container ;;
        -*) echo "install.sh: $argument is not an option" >&2; exit 2 ;;
        *) program=$argument ;;
    esac
done
if [ -z "$program" ] || [ ! -f "$program" ]; then
    echo "usage: packaging/install.sh PROGRAM [--container], PROGRAM as cargo built it: target/dist/evergraph" >&2
    exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install.sh needs root: it makes a user" >&2
    exit 2
fi

# In an image the numbers of user and group are fixed, so that a volume keeps its owner from one version to the next.
case $kind in
    service) data=/var/lib/evergraph; numbers=--system; group_numbers=--system ;;
    container) data=/data; numbers='--uid 10001'; group_numbers='--gid 10001' ;;
esac
# shellcheck disable=SC2086 # one word, or two
if ! getent passwd evergraph >/dev/null; then
    groupadd $group_numbers evergraph
    useradd $numbers --gid evergraph --home-dir "$data" --no-create-home --shell /usr/sbin/nologin evergraph
fi

install -m 755 "$program" /usr/bin/evergraph
# Before anything is installed that needs it: a program for another machine or another libc ends here.
/usr/bin/evergraph --version

# Settings and keys are root's, and the server reads them; data are the server's own.
install -d -m 750 -o root -g evergraph /etc/evergraph
install -d -m 750 -o evergraph -g evergraph "$data"
if [ "$kind" = service ]; then
    install -d -m 750 -o evergraph -g evergraph /var/log/evergraph
fi
if [ ! -e /etc/evergraph/evergraph.toml ]; then
    install -m 640 -o root -g evergraph "$here/evergraph.toml" /etc/evergraph/evergraph.toml
fi
if [ "$kind" = service ]; then
    install -D -m 644 "$here/evergraph.service" /etc/systemd/system/evergraph.service
    echo "installed; databases are $data/NAME.eg; start it: systemctl enable --now evergraph"
fi
