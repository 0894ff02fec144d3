import pytest
from lsprotocol import types as t
from pytest_lsp import client_capabilities

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = "jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)"
EMOJI = f's = "🐍🐍"; import jax; g = {CALL}\n'
FIXED = EMOJI.replace("jax.checkpoint(", "functools.partial(jax.checkpoint, ")
SITES = """import jax

def layer(x):
    return x

# remat-lint: example(x=f32[4])
def loss(x):
    return jax.checkpoint(layer)(x).sum()
"""
GENERATE = "remat-lint.generateTest"
POOR = t.ClientCapabilities()


def quick_fixes(actions):
    return [action for action in actions if action["kind"] == "quickfix"]


def at(line, character):
    return {"line": line, "character": character}


def line_range(line, start=0, end=0):
    return t.Range(start=t.Position(line=line, character=start), end=t.Position(line=line, character=end))


async def test_edit_is_right_although_the_client_sends_wrong_ranges_back(connect):
    # Neovim 0.7 returns diagnostics with byte columns to a server that counts in UTF-16.
    session = await connect(client_capabilities("neovim@0.7"))
    (diagnostic,) = await session.open("a.py", EMOJI)
    wrong = line_range(0, diagnostic.range.start.character + 4, diagnostic.range.end.character + 4)
    diagnostic.range = wrong
    (fix,) = quick_fixes(await session.actions("a.py", wrong, [diagnostic]))
    fixed = session.apply(EMOJI, fix["edit"])
    assert fixed == "import functools\n" + FIXED


async def test_stale_diagnostic_gives_the_edit_of_the_current_text(session):
    (stale,) = await session.open("stale_range.py", EMOJI)
    newer = '"""漢字"""\n' + EMOJI
    session.replace("stale_range.py", 2, newer)
    (current,) = await session.diagnostics("stale_range.py", 2)
    assert quick_fixes(await session.actions("stale_range.py", stale.range, [stale])) == []
    (fix,) = quick_fixes(await session.actions("stale_range.py", current.range, [current]))
    assert FIXED in session.apply(newer, fix["edit"])


async def test_actions_asked_for_at_once_after_a_change_wait_for_its_analysis(session):
    await session.open("early.py", "import jax\n")
    session.replace("early.py", 2, EMOJI)
    (fix,) = quick_fixes(await session.actions("early.py", line_range(0, 0, 200)))
    assert FIXED in session.apply(EMOJI, fix["edit"])


async def test_edits_name_the_version_only_for_clients_that_announce_it(connect):
    rich = await connect()
    (diagnostic,) = await rich.open("a.py", EMOJI, version=7)
    (fix,) = quick_fixes(await rich.actions("a.py", diagnostic.range, [diagnostic]))
    assert fix["edit"]["documentChanges"][0]["textDocument"] == {"uri": rich.uri("a.py"), "version": 7}
    poor = await connect(POOR)
    (diagnostic,) = await poor.open("a.py", EMOJI)
    (fix,) = quick_fixes(await poor.actions("a.py", diagnostic.range, [diagnostic]))
    assert list(fix["edit"]) == ["changes"]
    assert FIXED in poor.apply(EMOJI, fix["edit"])


async def test_unsafe_fixes_say_so_and_are_not_preferred(session):
    text = (
        "import jax\ndef total(xs):\n    scale = 0.0\n    @jax.checkpoint\n    def f(x):\n        return x * scale\n"
        "    out = 0.0\n    for scale in (1.0, 2.0):\n        out += f(xs)\n    return out\n"
    )
    (diagnostic,) = await session.open("unsafe.py", text)
    fixes = quick_fixes(await session.actions("unsafe.py", diagnostic.range, [diagnostic]))
    assert fixes
    for fix in fixes:
        assert fix["title"].endswith(" (changes behaviour: review)")
        assert "isPreferred" not in fix


async def test_only_the_kinds_that_were_asked_for_are_offered(session):
    (diagnostic,) = await session.open("kinds.py", EMOJI)
    where = diagnostic.range
    assert {
        action["kind"] for action in await session.actions("kinds.py", where, [diagnostic], ["quickfix"])
    } == {"quickfix"}
    refactorings = await session.actions("kinds.py", where, [diagnostic], ["refactor"])
    assert {action["kind"] for action in refactorings} == {"refactor.rewrite.remat-lint"}
    assert await session.actions("kinds.py", where, [diagnostic], ["source.organizeImports"]) == []


async def test_every_site_offers_a_test_of_the_function_around_it(session):
    assert await session.open("sites.py", SITES) == ()
    (action,) = await session.actions("sites.py", line_range(7, 12, 12))
    assert action["title"] == "Generate equivalence test for loss"
    assert action["command"]["arguments"] == [session.uri("sites.py"), "loss"]
    assert await session.actions("sites.py", line_range(2, 4, 4)) == []


async def test_generated_test_is_an_edit_where_the_client_creates_files(connect):
    capabilities = client_capabilities("visual_studio_code")
    capabilities.workspace.workspace_edit.metadata_support = True
    session = await connect(capabilities)
    (session.folder / "sites.py").write_text(SITES)
    await session.open("sites.py", SITES)
    answer = await session.execute(GENERATE, session.uri("sites.py"), "loss")
    target = session.folder / "tests" / "test_remat_sites_loss.py"
    assert answer == {"uri": target.as_uri()}
    (request,) = [found for found in session.requests if isinstance(found, t.ApplyWorkspaceEditParams)]
    create, change = request.edit.document_changes
    assert create.uri == change.text_document.uri == target.as_uri()
    assert "remat_lint.testing" in change.edits[0].new_text
    assert request.metadata.is_refactoring
    assert session.shown == [target.as_uri()]
    assert not target.exists()


async def test_generated_test_is_written_where_the_client_cannot(connect):
    session = await connect(POOR)
    (session.folder / "sites.py").write_text(SITES)
    await session.open("sites.py", SITES)
    await session.execute(GENERATE, session.uri("sites.py"), 7)
    target = session.folder / "tests" / "test_remat_sites_loss.py"
    assert "remat_lint.testing" in target.read_text()
    assert any(str(target) in text for text in session.messages)
    target.write_text("# mine\n")
    assert await session.execute(GENERATE, session.uri("sites.py"), "loss") is None
    assert target.read_text() == "# mine\n"
    assert "is there already with another text" in session.messages[-1]


async def test_nothing_is_written_through_a_link_out_of_the_folder(connect, tmp_path_factory):
    session = await connect(POOR)
    outside = tmp_path_factory.mktemp("outside")
    (session.folder / "tests").symlink_to(outside)
    (session.folder / "sites.py").write_text(SITES)
    await session.open("sites.py", SITES)
    assert await session.execute(GENERATE, session.uri("sites.py"), "loss") is None
    assert list(outside.iterdir()) == []
    assert session.messages


@pytest.mark.parametrize("arguments", [[], ["x"], ["file:///x.py", True], ["file:///x.py", "f", 1], [1, "f"]])
async def test_wrong_arguments_are_refused_with_the_right_ones(session, arguments):
    with pytest.raises(Exception, match="takes the address of a file and a function's name or a line"):
        await session.execute(GENERATE, *arguments)


async def test_test_of_an_unknown_place_is_refused_in_words(session):
    (session.folder / "unknown.py").write_text(SITES)
    await session.open("unknown.py", SITES)
    for target, reason in (("nothing", "defines no function 'nothing'"), (900, "no top-level function")):
        assert await session.execute(GENERATE, session.uri("unknown.py"), target) is None
        assert reason in session.messages[-1]


async def test_hover_tells_what_a_site_wraps_and_recomputes(session):
    text = (
        's = "🐍"; import functools, jax\n'
        "@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable, static_argnums=(1,))\n"
        "def layer(x, n):\n    return x @ x\n"
    )
    await session.open("hover.py", text)
    hover = await session.hover("hover.py", at(1, 25))
    value = hover["contents"]["value"]
    assert value.startswith("**jax.checkpoint** wraps `layer`")
    assert "Policy: `jax.checkpoint_policies.dots_saveable`" in value
    assert "Static arguments: `(1,)`" in value
    assert "Results of matrix products are kept" in value
    assert await session.hover("hover.py", at(3, 8)) is None


async def test_hover_shows_the_page_of_a_rule_on_a_finding_and_on_a_comment(session):
    text = f"import jax\ng = {CALL}  # remat-lint: ignore[RML201]\nh = {CALL}\n# noqa: RML101\n"
    await session.open("pages.py", text)
    column = text.splitlines()[1].index("RML201")
    for place, rule in ((at(1, column + 2), "RML201"), (at(2, 6), "RML201"), (at(3, 10), "RML101")):
        value = (await session.hover("pages.py", place))["contents"]["value"]
        assert f"**{rule}**" in value
        assert "**Why it is a problem**" in value
    assert await session.hover("pages.py", at(1, column - 4)) is None


async def test_text_of_the_file_does_not_become_markup_in_a_hover(session):
    text = "import jax\ntable = {}\ng = jax.checkpoint(table['`![x](http://h/p)<b>`'])\n"
    await session.open("hostile.py", text)
    value = (await session.hover("hostile.py", at(2, 8)))["contents"]["value"]
    assert "`` table['`![x](http://h/p)<b>`'] ``" in value or "``table['`![x](http://h/p)<b>`']``" in value


async def test_clients_without_markdown_get_plain_hovers(connect):
    session = await connect(POOR)
    await session.open("plain.py", SITES)
    contents = (await session.hover("plain.py", at(7, 14)))["contents"]
    assert contents["kind"] == "plaintext"
    assert contents["value"].startswith("jax.checkpoint wraps layer\nPolicy: none\n")
