"""One spelling for each host, and no address but public ones behind a name."""

import ipaddress
import re
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.targets import Target, may_be_dialled, parse, spelled

LDH = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")
HOSTILE = st.text(
    st.sampled_from("abxX019.-:@[]%/\\ \t\r\n\0\u3002\uff0e\u212a\u00df\u0440"), min_size=1, max_size=24
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip.test:443", "pip.test:443"),
        ("PIP.Test:80", "pip.test:80"),
        ("localhost:8080", "localhost:8080"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("1.example.test:22", "1.example.test:22"),
        ("xn--pypi-5ve.org:443", "xn--pypi-5ve.org:443"),
    ],
)
def test_a_host_has_one_spelling(text: str, expected: str) -> None:
    assert str(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":443",
        "pip.test",  # no port
        "pip.test:",
        "pip.test:0",
        "pip.test:65536",
        "pip.test:0443",
        "pip.test:+443",
        "pip.test:４４３",
        "pip.test:443:443",
        "pip.test.:443",
        ".pip.test:443",
        "pip..test:443",
        "-pip.test:443",
        "pip-.test:443",
        "pip_test:443",
        "pip.test\0.evil.test:443",
        "pip.test\n:443",
        "pip.test :443",
        "pip.test%00.evil.test:443",
        "user@pip.test:443",
        "pip.test/x:443",
        "pip.test\\@evil.test:443",
        "pyрi.org:443",
        "pip。test:443",
        "\u212aelvin.test:443",
        f"{'a' * 64}.test:443",
        f"{'a.' * 127}test:443",
        # an address in other spellings
        "127.1:80",
        "2130706433:80",
        "0x7f000001:80",
        "0177.0.0.1:80",
        "127.0.0.01:80",
        "127.0.0.0x1:80",
        "127.0.0.1.:80",
        "1.2.3.4.5:80",
        "host.1:80",
        "[::ffff:127.0.0.1]:80",
        "[::ffff:7f00:1]:80",
        "[64:ff9b::7f00:1]:80",
        "[2002:7f00:1::]:80",
        "[0:0:0:0:0:0:0:1]:80",
        "[::01]:80",
        "[fe80::1%eth0]:80",
        "[127.0.0.1]:80",
        "::1:80",
        # answers for the machine, for many, for none
        "169.254.169.254:80",
        "100.100.100.200:80",
        "[fe80::1]:80",
        "[fd00:ec2::254]:80",
        "168.63.129.16:80",
        "0.0.0.0:80",
        "[::]:80",
        "255.255.255.255:80",
        "224.0.0.1:80",
    ],
)
def test_every_other_spelling_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it"):
        parse(text)


@settings(database=None)  # the checkout may be another user's
@given(HOSTILE)
def test_what_is_taken_reads_in_one_way(text: str) -> None:
    for read in (parse, spelled):
        try:
            target = read(text)
        except ValueError:
            continue
        assert parse(str(target)) == target
        assert read is spelled or str(target) == text.lower(), "nothing is mended"
        if target.address is None:
            assert LDH.fullmatch(target.name)
            with pytest.raises(OSError, match="illegal"):  # no library takes it for an address
                socket.inet_aton(target.name)
        else:
            assert str(ipaddress.ip_address(target.name)) == target.name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi.org", "pypi.org:443"),
        (" pypi.org:80 ", "pypi.org:80"),
        ("pyрi.org", "xn--pyi-1ed.org:443"),
        ("bücher.test:80", "xn--bcher-kva.test:80"),
        ("[2001:db8::1]", "[2001:db8::1]:443"),
        ("[2001:db8::1]:80", "[2001:db8::1]:80"),
    ],
)
def test_what_people_write_becomes_what_is_dialled(text: str, expected: str) -> None:
    assert str(spelled(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "0.0.0.0"),
        *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1"),
        *("::127.0.0.1", "::8.8.8.8", "::ffff:0:7f00:1", "64:ff9b::808:808", "64:ff9b:1::7f00:1"),
        *("192.0.0.8", "192.0.0.9", "192.0.0.170", "192.0.0.192", "192.88.99.1", "168.63.129.16"),
        *("0.1.2.3", "100.127.255.255", "198.19.255.255", "198.51.100.1", "203.0.113.1", "239.255.255.255"),
        *("fec0::1", "3fff::1", "5f00::1", "100::1", "200::1", "4000::1", "2001:2::1", "2001:20::1"),
    ],
)
def test_names_lead_to_no_address_but_public_ones(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not may_be_dialled(address, 80, ())
    may = may_be_dialled(address, 80, (str(Target(name=str(address), port=80)),))
    assert not may_be_dialled(address, 81, (str(Target(name=str(address), port=80)),))
    try:
        parse(str(Target(name=str(address), port=80)))
    except ValueError:
        assert not may, "what cannot be granted cannot be dialled"
    else:
        assert may


@pytest.mark.parametrize(
    "text",
    [
        *(
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
        ),
        *("168.63.129.17", "223.255.255.255", "2001:200::1", "2606:4700::1", "2a00:1450::1", "3ffe::1"),
    ],
)
def test_names_lead_to_public_addresses(text: str) -> None:
    assert may_be_dialled(ipaddress.ip_address(text), 80, ())


def test_whether_an_address_is_public_does_not_depend_on_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        monkeypatch.setattr(kind, "is_global", property(lambda _: True))
        monkeypatch.setattr(kind, "is_private", property(lambda _: False))
    for text in ("10.0.0.1", "192.0.0.8", "fc00::1", "3fff::1"):
        assert not may_be_dialled(ipaddress.ip_address(text), 80, ())


def test_a_public_address_of_this_machine_is_not_public(monkeypatch: pytest.MonkeyPatch) -> None:
    address = ipaddress.ip_address("93.184.216.34")
    assert may_be_dialled(address, 80, ())

    class Own(socket.socket):
        def bind(self, address: object) -> None:
            """It is one of ours."""

    monkeypatch.setattr(socket, "socket", Own)
    assert not may_be_dialled(address, 80, ())
