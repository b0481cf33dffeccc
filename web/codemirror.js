// What the page Ask takes of CodeMirror; static/asking/editor.js puts it together.
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { PostgreSQL } from "@codemirror/lang-sql";
export { bracketMatching, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { Compartment, EditorState, Prec } from "@codemirror/state";
export { drawSelection, EditorView, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
