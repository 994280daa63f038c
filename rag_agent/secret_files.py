"""Files that are never read, whatever the allowlist says, and folders that are never entered."""

from __future__ import annotations

from collections.abc import Mapping

from rag_agent.patterns import Patterns

# In the syntax of .gitignore, the last row that matches decides; case does not matter. A row that
# begins with "!" lets through what a row above would hold back.
_FILES: tuple[tuple[str, str], ...] = (
    (".env .env.* *.env .envrc .dev.vars", "environment variables"),
    ("!.env.example !.env.sample !.env.template !.env.dist !.env.defaults !.env.schema", ""),
    ("!example.env !sample.env !template.env", ""),
    ("*.pem *.key *.p12 *.pfx *.p8 *.pk8 *.jks *.keystore *.bks *.ppk *.keytab *.snk", "keys"),
    ("*.crt *.cer *.der *.p7b *.csr *.ovpn *.mobileprovision", "a certificate"),
    ("id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_rsa.* id_ed25519.*", "a key"),
    ("*_rsa *_dsa *_ecdsa *_ed25519", "a key"),
    ("!*.pub", ""),
    ("*.gpg *.pgp *.asc *.age *.kdb *.kdbx *.agilekeychain *.opvault", "encrypted or a key"),
    (".npmrc .yarnrc.yml .pypirc .netrc _netrc .git-credentials .gem/credentials", "logins"),
    ("**/.cargo/credentials* **/.m2/settings*.xml **/.composer/auth.json", "logins"),
    ("**/.codex/auth.json **/.config/gh/hosts.yml", "logins"),
    (".htpasswd htpasswd .pgpass pgpass.conf .my.cnf .mylogin.cnf .smbcredentials", "passwords"),
    (".vault_pass* .vault-token .vault-password* vault_pass* master.key", "passwords"),
    (".dockercfg **/.docker/config.json", "logins"),
    ("kubeconfig *.kubeconfig **/.kube/config", "logins"),
    ("kubeconfig.yaml kubeconfig.yml *.kubeconfig.yaml *.kubeconfig.yml", "logins"),
    ("**/.aws/credentials **/.aws/config **/.azure/*oken*.json", "logins"),
    (".boto .s3cfg .rclone.conf rclone.conf .databrickscfg .sentryclirc .terraformrc", "logins"),
    ("terraform.rc credentials.tfrc.json application_default_credentials.json", "logins"),
    ("*service-account*.json *service_account*.json *serviceaccount*.json *adminsdk*.json"
     " client_secret*.json gcp-key*.json gcloud-key*.json", "a service account"),
    ("*.tfstate *.tfstate.* *.tfvars *.tfvars.json local.settings.json", "settings with secrets"),
    ("!*.tfvars.example !*.tfvars.sample", ""),
    ("credentials credentials.json credentials.yml credentials.yaml credentials.toml"
     " credentials.ini credentials.xml credentials.csv *accesskeys.csv rootkey.csv", "credentials"),
    (".secret .secrets secrets.json secrets.yml secrets.yaml secrets.toml secrets.ini secrets.env"
     " secrets.properties secrets.xml secrets.txt secret.json secret.yml secret.yaml secret.toml"
     " *.secrets.json *.secrets.yml *.secrets.yaml", "secrets"),
    (".Renviron .Rhistory .*_history fish_history .lesshst .viminfo", "a history or environment"),
    ("wallet.dat *.wallet UTC--* cookies.txt cookies.sqlite wg[0-9]*.conf", "secrets"),
)  # fmt: skip
_FOLDERS: tuple[tuple[str, str], ...] = (
    (".ssh/", "keys"),
    (".gnupg/", "keys"),
    (".password-store/", "passwords"),
    ("**/.config/gcloud/ **/.aws/*/cache/", "logins"),
    ("**/.local/share/keyrings/", "passwords"),
)


def _patterns(rows: tuple[tuple[str, str], ...]) -> tuple[Patterns, Mapping[str, str]]:
    why = {pattern: reason for patterns, reason in rows for pattern in patterns.split()}
    return Patterns(why, ignore_case=True), why


_SECRET_FILES, _WHY_FILES = _patterns(_FILES)
_SECRET_FOLDERS, _WHY_FOLDERS = _patterns(_FOLDERS)


def secret_file(path: str) -> str | None:
    """What a file of this POSIX path is likely to hold, when it must not be read."""
    pattern = _SECRET_FILES.last(path, path[path.rfind("/") + 1 :], folder=False)
    return None if pattern is None or pattern.negated else _WHY_FILES[pattern.text]


def secret_folder(path: str) -> str | None:
    """What a folder of this POSIX path is likely to hold, when it must not be entered."""
    pattern = _SECRET_FOLDERS.last(path, path[path.rfind("/") + 1 :], folder=True)
    return None if pattern is None else _WHY_FOLDERS[pattern.text]
