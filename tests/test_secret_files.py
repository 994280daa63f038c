"""Files that are never read, by their names."""

from __future__ import annotations

import pytest

from rag_agent.secret_files import secret_file, secret_folder


@pytest.mark.parametrize(
    "path",
    """.env .ENV a/.env.local .env.production prod.env .envrc server.pem a/tls.KEY cert.p12 c.pfx
    release.keystore id_rsa keys/id_ed25519 deploy_rsa putty.ppk vault.kdbx .npmrc .yarnrc.yml
    .netrc _netrc .pypirc .pgpass .htpasswd .git-credentials .dockercfg a/.docker/config.json
    .aws/credentials .cargo/credentials.toml terraform.tfstate prod.tfvars kubeconfig .kube/config
    my-service-account.json x-firebase-adminsdk-1a.json client_secret_12.json credentials.json
    config/master.key secrets.yml config/secrets.YAML .streamlit/secrets.toml wallet.dat
    UTC--2020-01-01 .bash_history .python_history .Renviron .vault-token local.settings.json
    cacert.crt backup.gpg kubeconfig.yaml a/KubeConfig.yml prod.kubeconfig.yaml""".split(),
)
def test_files_that_hold_secrets_are_known_by_name(path: str) -> None:
    assert secret_file(path)


@pytest.mark.parametrize(
    "path",
    """.env.example a/.env.sample .env.template env.py environment.md id_rsa.pub id_ed25519.pub
    id_rsa_parser.py secrets.py test_secrets.py credentials.py password.md keys.md keyboard.ts
    config.json .docker/Dockerfile docker/config.json .aws/task-definition.json history.md
    prod.tfvars.example main.tf token.go tokens.json locales/en/auth.json monkey.py donkey.rb
    service_account.py .ssh.md pem.py update_kubeconfig.yaml kubeconfig.go""".split(),
)
def test_names_that_only_sound_like_secrets_are_read(path: str) -> None:
    assert secret_file(path) is None


def test_folders_of_keys_are_not_entered() -> None:
    assert secret_folder("home/me/.ssh")
    assert secret_folder(".gnupg")
    assert secret_folder("home/me/.config/gcloud")
    assert secret_folder("gcloud") is None
    assert secret_folder("ssh") is None
