# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import base64

import pytest
import yaml

from enbloc.config import effective
from enbloc.framework.extenders import TLS, Extender
from enbloc.model.credentials import URL
from tests.config.files import configured, problems, sample, v1


def test_extenders_are_what_the_file_says_ignorable_ones_last() -> None:
    [profile, other] = configured(sample("v1.yaml")).profiles.values()
    assert profile.extenders == other.extenders
    assert profile.extenders == (
        Extender(
            url=URL("https://binder.example.com"),
            bind_verb="bind",
            node_cache_capable=True,
            managed={"example.com/fpga": True},
            tls=TLS(insecure=True),  # as upstream, where no CA is given
        ),
        Extender(
            url=URL("http://127.0.0.1:8888/scheduler"),
            filter_verb="filter",
            prioritize_verb="prioritize",
            weight=5,
            timeout=1.5,
            ignorable=True,
        ),
    )


def test_certificates_come_as_base64_and_a_ca_is_checked() -> None:
    pem = base64.b64encode(b"PEM").decode()
    text = v1(
        f"""
        extenders:
        - urlPrefix: https://a.example
          enableHTTPS: true
          tlsConfig: {{serverName: b, caData: {pem}, certData: {pem}, keyFile: k}}
        """
    )
    found = configured(text)
    [profile] = found.profiles.values()
    [extender] = profile.extenders
    assert configured(yaml.safe_dump_all(effective(found))).profiles == found.profiles
    assert extender.tls == TLS(
        server_name="b", ca_data="PEM", cert_data="PEM", key_file="k", insecure=False
    )


@pytest.mark.parametrize(
    ("extenders", "said"),
    [
        ("[{}]", "extenders[0].urlPrefix: Required"),
        ("[{urlPrefix: 'h:80'}]", "extenders[0].urlPrefix: must be a URL such as"),
        ("[{urlPrefix: 'http://['}]", "extenders[0].urlPrefix: must be a URL such as"),
        (
            "[{urlPrefix: 'http://a', prioritizeVerb: p}]",
            "extenders[0].weight: must be above 0 with a prioritizeVerb, is 0",
        ),
        (
            "[{urlPrefix: 'http://a', weight: 9223372036854775807}]",
            "extenders[0].weight: must be at most 2147483647, is 9223372036854775807",
        ),
        (
            "[{urlPrefix: 'http://a', httpTimeout: -1s}]",
            "extenders[0].httpTimeout: must not be negative",
        ),
        (
            "[{urlPrefix: 'http://a', bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b}]",
            "extenders: only one extender may have a bindVerb, but these do: extenders[0], ext",
        ),
        (
            "[{urlPrefix: 'http://a', managedResources: [{name: cpu}]}]",
            "extenders[0].managedResources[0].name: must be an extended resource such as",
        ),
        (
            "[{urlPrefix: 'http://a', managedResources: [{name: kubernetes.io/batch}]}]",
            "extenders[0].managedResources[0].name: must be an extended resource such as",
        ),
        (
            "[{urlPrefix: 'http://a', managedResources: [{name: a b}]}]",
            "extenders[0].managedResources[0].name: must be a name such as",
        ),
        (
            "[{urlPrefix: 'http://a', managedResources: [{name: a.b/c}, {name: a.b/c}]}]",
            'extenders[0].managedResources[1].name: Duplicate "a.b/c": it is managed at extend',
        ),
        (
            "[{urlPrefix: 'http://a', tlsConfig: {caData: '%'}}]",
            "extenders[0].tlsConfig.caData: must be PEM text in base64",
        ),
    ],
)
def test_an_extender_that_cannot_work_is_refused(extenders: str, said: str) -> None:
    found = problems(v1(f"extenders: {extenders}"))
    assert any(line.startswith(said) for line in found), found


def test_what_only_an_extender_counts_is_left_out_of_the_filter() -> None:
    text = v1(
        """
        profiles:
        - pluginConfig:
          - {name: NodeResourcesFit, args: {ignoredResources: [a.b/c]}}
        extenders:
        - urlPrefix: http://a
          managedResources:
          - {name: a.b/c, ignoredByScheduler: true}
          - {name: a.b/d, ignoredByScheduler: true}
          - {name: a.b/e}
        """
    )
    found = configured(text)
    given = found.given["enbloc"]["NodeResourcesFit"]
    assert given == {"ignoredResources": ["a.b/c", "a.b/d"]}


def test_wrong_arguments_stay_wrong_beside_an_extender() -> None:
    text = v1(
        """
        profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: 5}}]}]
        extenders:
        - {urlPrefix: "http://a", managedResources: [{name: a.b/c, ignoredByScheduler: true}]}
        """
    )
    [said] = problems(text)
    assert said == ("profiles[0].pluginConfig[0].args.ignoredResources: must be a list, is 5")
