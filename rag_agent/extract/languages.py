"""Which files are indexed, and as what: one table of extensions and file names.

Names follow the grammars of ``semble_grammars`` where one exists, so that a chunker may look its
grammar up by ``Language.name``. A language without a grammar is cut by lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rag_agent.types import Kind


@dataclass(frozen=True, slots=True)
class Language:
    """What a file is written in.

    ``converted`` marks formats whose text is made from the bytes (PDF, office files, mail, HTML):
    they may be larger than source code, and their bytes say nothing about their lines.
    """

    name: str
    kind: Kind
    converted: bool = False


# One row per language: name, kind, then extensions (with their dot) and whole file names.
# A name with a leading dot (.bashrc) is at once an extension, which does no harm.
_CODE: tuple[tuple[str, str], ...] = (
    ("ada", ".ada .adb .ads"),
    ("agda", ".agda"),
    ("apex", ".apex .trigger"),
    ("applescript", ".applescript"),
    ("assembly", ".asm .s .nasm"),
    ("astro", ".astro"),
    ("autoconf", ".ac .m4"),
    ("awk", ".awk"),
    (
        "bash",
        ".sh .bash .zsh .ksh .bats .ebuild .command .bashrc .bash_profile .bash_aliases .profile"
        " .zshrc .zprofile .zshenv PKGBUILD",
    ),
    ("batch", ".bat .cmd"),
    ("bicep", ".bicep"),
    # Headers are read as C++: its grammar reads C too, while C's loses every class and namespace.
    ("c", ".c .cl"),
    ("capnp", ".capnp"),
    ("clojure", ".clj .cljs .cljc .cljd .edn .bb"),
    ("cmake", ".cmake CMakeLists.txt"),
    ("cobol", ".cob .cbl .cpy"),
    ("coffeescript", ".coffee"),
    ("commonlisp", ".lisp .lsp .asd"),
    (
        "cpp",
        ".h .cpp .cc .cxx .c++ .C .hpp .hh .hxx .h++ .H .ipp .inl .tpp .txx .ixx .cppm .inc"
        " .ino .cu .cuh",
    ),
    ("crystal", ".cr"),
    ("csharp", ".cs .csx .razor .cshtml"),
    ("css", ".css .pcss .postcss"),
    ("cython", ".pyx .pxd .pxi"),
    ("d", ".d .di"),
    ("dart", ".dart"),
    ("dhall", ".dhall"),
    ("dockerfile", ".dockerfile .containerfile Dockerfile Containerfile"),
    ("earthly", "Earthfile"),
    ("elisp", ".el .emacs"),
    ("elixir", ".ex .exs"),
    ("elm", ".elm"),
    ("embedded_template", ".erb .ejs .eex"),
    ("erlang", ".erl .hrl .escript .xrl .yrl rebar.config"),
    ("fish", ".fish"),
    ("flatbuffers", ".fbs"),
    ("forth", ".fth .4th"),
    ("fortran", ".f .for .f77 .f90 .f95 .f03 .f08 .fpp"),
    ("fsharp", ".fs .fsi .fsx"),
    ("gdscript", ".gd"),
    ("gleam", ".gleam"),
    ("glsl", ".glsl .vert .frag .geom .comp .tesc .tese"),
    ("gn", ".gn .gni"),
    ("go", ".go"),
    ("gotmpl", ".gotmpl .tmpl .tpl"),
    ("graphql", ".graphql .gql .graphqls"),
    ("groovy", ".groovy .gvy .gradle .nf Jenkinsfile"),
    ("haml", ".haml"),
    ("handlebars", ".hbs .handlebars .mustache"),
    ("haskell", ".hs .lhs .hsc .hs-boot"),
    ("haxe", ".hx"),
    ("hcl", ".hcl .tf .nomad"),
    ("heex", ".heex .leex"),
    ("hlsl", ".hlsl .fx .hlsli"),
    ("idris", ".idr"),
    ("java", ".java .jsp .aj"),
    ("javascript", ".js .mjs .cjs .jsx .es6"),
    ("jinja2", ".jinja .jinja2 .j2"),
    ("jq", ".jq"),
    ("jsonnet", ".jsonnet .libsonnet"),
    ("julia", ".jl"),
    ("just", ".just Justfile justfile .justfile"),
    ("kotlin", ".kt .kts .ktm"),
    ("lean", ".lean"),
    ("less", ".less"),
    ("liquid", ".liquid"),
    ("lua", ".lua .luau .rockspec .wlua"),
    ("make", ".mk .mak .make Makefile makefile GNUmakefile BSDmakefile Kbuild .am"),
    ("meson", "meson.build meson_options.txt meson.options"),
    ("metal", ".metal"),
    ("mojo", ".mojo"),
    ("move", ".move"),
    ("nim", ".nim .nims .nimble"),
    ("nix", ".nix"),
    ("nushell", ".nu"),
    ("objc", ".m .mm"),
    ("ocaml", ".ml .mli .mll .mly .re .rei"),
    ("odin", ".odin"),
    ("pascal", ".pas .dpr .lpr"),
    ("perl", ".pl .pm .t .psgi Makefile.PL Build.PL cpanfile"),
    ("php", ".php .phtml .php3 .php4 .php5 .phps"),
    ("powershell", ".ps1 .psm1 .psd1"),
    ("prisma", ".prisma"),
    ("prolog", ".prolog"),
    ("proto", ".proto"),
    ("pug", ".pug .jade"),
    ("puppet", ".pp .epp"),
    ("purescript", ".purs"),
    ("python", ".py .pyi .pyw .wsgi .pyt SConstruct SConscript wscript"),
    ("qml", ".qml"),
    ("r", ".r .Rprofile"),
    ("racket", ".rkt .rktl .scrbl"),
    ("raku", ".raku .rakumod .rakutest .p6 .pm6"),
    ("rego", ".rego"),
    (
        "ruby",
        ".rb .rake .gemspec .ru .podspec .jbuilder .thor Rakefile Gemfile Guardfile Podfile Capfile"
        " Vagrantfile Fastfile Appfile Brewfile Berksfile Thorfile Dangerfile .irbrc .pryrc",
    ),
    ("rust", ".rs"),
    ("sass", ".sass"),
    ("scala", ".scala .sc .sbt .mill"),
    ("scheme", ".scm .ss .sld .sls"),
    ("scss", ".scss"),
    ("sed", ".sed"),
    ("slim", ".slim"),
    ("smalltalk", ".st"),
    ("solidity", ".sol"),
    ("sql", ".sql .psql .pgsql .plsql .pks .pkb .ddl .dml"),
    ("starlark", ".bzl .bazel .star .starlark BUILD WORKSPACE Tiltfile BUCK TARGETS"),
    ("stylus", ".styl"),
    ("svelte", ".svelte"),
    ("swift", ".swift .swiftinterface"),
    ("systemverilog", ".sv .svh"),
    ("tcl", ".tcl .tk .exp"),
    ("thrift", ".thrift"),
    ("tsx", ".tsx"),
    ("twig", ".twig"),
    ("typescript", ".ts .mts .cts"),
    ("vala", ".vala .vapi"),
    ("vb", ".vb .vbs .bas"),
    ("verilog", ".v .vh"),
    ("vhdl", ".vhd .vhdl"),
    ("vim", ".vim .vimrc .nvimrc _vimrc"),
    ("vue", ".vue"),
    ("wat", ".wat .wast"),
    ("wgsl", ".wgsl"),
    ("zig", ".zig .zon"),
)
_PROSE: tuple[tuple[str, str], ...] = (
    ("asciidoc", ".adoc .asciidoc"),
    ("latex", ".tex .ltx .latex .sty"),
    ("markdown", ".md .markdown .mdown .mkdn .mkd .mdwn .mdx .mdc .qmd .rmd .cheatmd"),
    ("org", ".org"),
    ("pod", ".pod"),
    ("rdoc", ".rdoc"),
    ("rst", ".rst .rest"),
    ("texinfo", ".texi .texinfo"),
    (
        "text",
        ".txt .text README INSTALL CHANGELOG CHANGES NEWS TODO AUTHORS CONTRIBUTORS MAINTAINERS"
        " CONTRIBUTING HACKING LICENSE LICENCE COPYING NOTICE PATENTS CODEOWNERS",
    ),
    ("textile", ".textile"),
    ("typst", ".typ"),
    ("wikitext", ".wiki .mediawiki .creole"),
)
IMAGE = "image"
"""The language of pictures, whose text OCR reads."""
_CONVERTED: tuple[tuple[str, str], ...] = (
    ("docx", ".docx .docm .dotx .dotm"),
    ("eml", ".eml .mht .mhtml"),
    ("epub", ".epub"),
    ("html", ".html .htm .xhtml"),
    (IMAGE, ".png .jpg .jpeg .tif .tiff .webp .bmp .gif"),
    ("mbox", ".mbox .mbx"),
    ("notebook", ".ipynb"),
    ("odp", ".odp .otp .fodp"),
    ("ods", ".ods .ots .fods"),
    ("odt", ".odt .ott .fodt"),
    (
        "office97",
        ".doc .dot .xls .xlt .ppt .pps .pot .msg",
    ),  # named, so that the sync says what to do
    ("pdf", ".pdf"),
    ("pptx", ".pptx .pptm .ppsx .ppsm .potx .potm"),
    ("rtf", ".rtf"),
    ("svg", ".svg"),
    ("xlsx", ".xlsx .xlsm .xltx .xltm .xlsb"),
)
_DATA: tuple[tuple[str, str], ...] = (
    ("bibtex", ".bib"),
    ("cabal", ".cabal cabal.project"),
    ("csv", ".csv"),
    ("diff", ".diff .patch"),
    ("dot", ".dot .gv"),
    ("dtd", ".dtd"),
    (
        "gitignore",
        ".gitignore .dockerignore .npmignore .eslintignore .prettierignore .ragignore"
        " .gitattributes .gitmodules",
    ),
    ("gomod", "go.mod go.work"),
    (
        "ini",
        ".ini .cfg .conf .cnf .editorconfig .flake8 .coveragerc .pylintrc .desktop .service"
        " .socket .timer .mount",
    ),
    (
        "json",
        ".json .geojson .webmanifest .jsonld .avsc .babelrc .eslintrc .prettierrc .swcrc"
        " Pipfile.lock",
    ),
    ("json5", ".json5"),
    ("jsonc", ".jsonc .code-workspace"),
    ("jsonl", ".jsonl .ndjson"),
    ("kdl", ".kdl"),
    ("log", ".log"),
    ("mermaid", ".mmd .mermaid"),
    ("plantuml", ".puml .plantuml"),
    (
        "properties",
        # Of .env what secret_files.py lets through.
        ".properties .env.example .env.sample .env.template .env.dist .env.defaults .env.schema"
        " example.env sample.env template.env .tool-versions gradle.properties Procfile",
    ),
    ("toml", ".toml Pipfile"),
    ("tsv", ".tsv"),
    (
        "xml",
        ".xml .xsd .xsl .xslt .wsdl .plist .csproj .fsproj .vbproj .vcxproj .props .targets"
        " .nuspec .xaml .axaml .pom .rss .atom .opml .jelly",
    ),
    ("yaml", ".yaml .yml .clang-format .clang-tidy .cff"),
)


def _table() -> dict[str, Language]:
    rows = (
        *((row, Language(row[0], "code")) for row in _CODE),
        *((row, Language(row[0], "prose")) for row in _PROSE),
        *((row, Language(row[0], "prose", converted=True)) for row in _CONVERTED),
        *((row, Language(row[0], "data")) for row in _DATA),
    )
    return {key: language for (_, keys), language in rows for key in keys.split()}


LANGUAGES: Mapping[str, Language] = _table()
"""``.py`` or ``Makefile`` → its language: the default allowlist."""

# Templates of a file that is known by what comes before: config.h.in, settings.py.example.
_TEMPLATE_SUFFIXES = frozenset((".in", ".example", ".sample", ".template", ".dist"))

# Interpreter (without its version) → key in LANGUAGES.
_INTERPRETERS: Mapping[str, str] = {
    interpreter: key
    for key, interpreters in (
        (".awk", "awk gawk mawk nawk"),
        (".clj", "bb clojure"),
        (".cr", "crystal"),
        (".escript", "escript"),
        (".exs", "elixir iex"),
        (".fish", "fish"),
        (".groovy", "groovy"),
        (".hs", "runhaskell runghc stack"),
        (".jl", "julia"),
        (".js", "node nodejs bun"),
        (".jq", "jq"),
        (".just", "just"),
        (".kts", "kotlin"),
        (".lua", "lua luajit luau texlua"),
        (".mk", "make gmake"),
        (".ml", "ocaml ocamlrun"),
        (".nix", "nix nix-shell"),
        (".nu", "nu"),
        (".php", "php"),
        (".pl", "perl"),
        (".ps1", "pwsh powershell"),
        (".py", "python pypy ipython uv pipx sage"),
        (".r", "Rscript littler r"),
        (".raku", "raku perl6"),
        (".rb", "ruby jruby macruby"),
        (".rkt", "racket"),
        (".scala", "scala scala-cli amm"),
        (".scm", "guile scheme chicken csi"),
        (".sed", "sed"),
        (".sh", "sh bash zsh ksh mksh dash ash bats"),
        (".swift", "swift"),
        (".tcl", "tclsh wish expect"),
        (".ts", "deno ts-node tsx"),
    )
    for interpreter in interpreters.split()
}
_VERSION = re.compile(r"[-\d.]+$")


def key_of(name: str, known: Collection[str] = LANGUAGES) -> str | None:
    """The key of ``known`` that names this file, or None.

    Whole names are exact (``BUILD`` is Bazel's, ``build`` is not); extensions also match in lower
    case (``.PY``), but ``.C`` is C++. ``app.env.example`` is known by its last two extensions;
    ``Dockerfile.dev`` and ``config.h.in`` count as what they are variants of. ``name`` is a file
    name without folders.
    """
    if name in known:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return None
    suffix = "." + extension
    if suffix in known:
        return suffix
    lower = suffix.lower()
    if lower in known:
        return lower
    double = f".{stem.rpartition('.')[2].lower()}{lower}"
    if double in known:
        return double
    if lower in _TEMPLATE_SUFFIXES and stem:
        return key_of(stem, known)
    first = name.partition(".")[0]
    return first if first and first in known else None


def language_of(path: str) -> Language | None:
    """The language that the name of this POSIX path stands for, or None when it is not known."""
    key = key_of(path.rpartition("/")[2])
    return None if key is None else LANGUAGES[key]


def language_of_shebang(first_line: str) -> Language | None:
    """The language of a script by its first line (``#!/usr/bin/env -S uv run --script``)."""
    if not first_line.startswith("#!"):
        return None
    words = first_line[2:].replace("\\", "/").split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    program = words[0].rpartition("/")[2].removesuffix(".exe")
    key = _INTERPRETERS.get(program) or _INTERPRETERS.get(_VERSION.sub("", program))
    return None if key is None else LANGUAGES[key]
