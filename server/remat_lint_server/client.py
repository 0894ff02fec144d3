"""What the connected editor can do, read once from what it announces; its name is never looked at."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """Abilities of a client; what is not announced counts as missing.

    Attributes:
        related_information: diagnostics may carry related places.
        document_changes: an edit may name the version of the document it belongs to.
        create_files: an edit may create a file.
        edit_metadata: `workspace/applyEdit` may say that the edit is a refactoring (and is then saved).
        apply_edit: the server may ask for an edit.
        show_document: the server may ask to show a file.
        markdown_hover: hovers may be Markdown.
        watch_files: the server may ask to be told of changed files.
    """

    related_information: bool = False
    document_changes: bool = False
    create_files: bool = False
    edit_metadata: bool = False
    apply_edit: bool = False
    show_document: bool = False
    markdown_hover: bool = False
    watch_files: bool = False

    @classmethod
    def read(cls, capabilities: types.ClientCapabilities) -> ClientProfile:
        """Read the capabilities of an `initialize` request."""
        operations = get_capability(capabilities, "workspace.workspace_edit.resource_operations", ())
        formats = get_capability(capabilities, "text_document.hover.content_format", ())
        return cls(
            related_information=bool(
                get_capability(capabilities, "text_document.publish_diagnostics.related_information")
            ),
            document_changes=bool(get_capability(capabilities, "workspace.workspace_edit.document_changes")),
            create_files=types.ResourceOperationKind.Create in (operations or ()),
            edit_metadata=bool(get_capability(capabilities, "workspace.workspace_edit.metadata_support")),
            apply_edit=bool(get_capability(capabilities, "workspace.apply_edit")),
            show_document=bool(get_capability(capabilities, "window.show_document.support")),
            markdown_hover=types.MarkupKind.Markdown in (formats or ()),
            watch_files=bool(
                get_capability(capabilities, "workspace.did_change_watched_files.dynamic_registration")
            ),
        )
