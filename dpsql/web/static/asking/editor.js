// The editor: CodeMirror with PostgreSQL's colours, and completion of what the role may use. It lives in a shadow root, where its
// styles are adopted sheets, so that the page's content policy can forbid inline styles.

import {
  autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, Compartment, completionKeymap, defaultKeymap,
  drawSelection, EditorState, EditorView, highlightSpecialChars, HighlightStyle, history, historyKeymap, keymap, placeholder,
  PostgreSQL, Prec, setDiagnostics, syntaxHighlighting, syntaxTree, tags,
} from "../built/codemirror.js";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--main)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--second)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.standard(tags.name), tags.typeName], color: "var(--need)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--ground)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", fontSize: ".92rem" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace', lineHeight: "1.55", maxHeight: "24rem", overflow: "auto" },
  ".cm-content": { minHeight: "9.2rem", padding: ".6rem 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 .8rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-placeholder": { color: "var(--soft)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--track)" },
  ".cm-matchingBracket": { backgroundColor: "var(--track)", outline: "1px solid var(--line)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px", backgroundColor: "var(--bad-ground)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", overflow: "hidden", boxShadow: "0 4px 16px #0003" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "14rem" },
  ".cm-tooltip-autocomplete > ul > li": { padding: ".2rem .6rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--main)", color: "var(--main-ink)" },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal", fontSize: ".85em", marginLeft: "1em" },
  ".cm-completionInfo": { maxWidth: "18rem", padding: ".4rem .6rem" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)", padding: ".3rem .6rem" },
});

// The dialect has hundreds of keywords; these are what questions are written with.
const KEYWORDS = `SELECT DISTINCT FROM WHERE AND OR NOT IN BETWEEN LIKE IS NULL TRUE FALSE AS JOIN LEFT INNER ON USING GROUP BY HAVING ORDER
  ASC DESC LIMIT OFFSET WITH UNION ALL CASE WHEN THEN ELSE END FILTER OVER PARTITION ROLLUP CUBE INTERVAL EXISTS EXTRACT CAST`.split(/\s+/);

const words = (list, type) => list.map((label) => ({ label, type }));

/** A name that is typed after `prefix` in any case is offered; what is inside quotes is a declared value. */
function completions({ tables, functions }) {
  const columns = tables.flatMap((table) => table.columns.map((column) => ({ ...column, table })));
  const names = [
    ...tables.map(({ sql: label, about }) => ({ label, type: "class", detail: "table", info: about || undefined, boost: 20 })),
    ...columns.map(({ sql: label, type, about, table }) => ({ label, type: "property", detail: `${type} of ${table.name}`, info: about || undefined, boost: 10 })),
    ...words(functions, "function"),
    ...words(KEYWORDS, "keyword"),
  ];
  const ofTable = new Map(tables.map((table) => [table.sql.toLowerCase(), table.columns.map(({ sql: label, type, about }) => ({ label, type: "property", detail: type, info: about || undefined }))]));
  const values = new Map();
  for (const { name, values: of } of columns) if (of.length) values.set(name.toLowerCase(), [...(values.get(name.toLowerCase()) ?? []), ...of]);

  return (context) => {
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    if (/Comment/.test(node.name)) return null;
    const before = context.state.sliceDoc(Math.max(0, context.pos - 400), context.pos);
    const literal = /["\w.]*?"?(\w+)"?\s*(?:=|<>|!=|\bIN\s*\((?:\s*'(?:[^']|'')*'\s*,)*)\s*'((?:[^']|'')*)$/i.exec(before);
    if (literal) {
      const options = (values.get(literal[1].toLowerCase()) ?? []).map((label) => ({ label: label.replaceAll("'", "''"), type: "text", detail: "declared value" }));
      return options.length ? { from: context.pos - literal[2].length, options } : null;
    }
    if (/String/.test(node.name)) return null;
    const dotted = /(\w+)\.(\w*)$/.exec(before);
    if (dotted) {
      const options = ofTable.get(dotted[1].toLowerCase()) ?? (dotted[1] === "dpsql" ? names.filter(({ label }) => label.startsWith("dpsql.")).map((of) => ({ ...of, label: of.label.slice(6) })) : null);
      return options && { from: context.pos - dotted[2].length, options };
    }
    const word = context.matchBefore(/[\w"]+/);
    if (!word && !context.explicit) return null;
    return { from: word?.from ?? context.pos, options: names, validFor: /^[\w".]*$/ };
  };
}

/** The browser's selection, of which the editor may not have heard yet. */
function selected(view) {
  const { main } = view.state.selection;
  const range = view.root.getSelection?.();
  if (!range?.anchorNode || !view.contentDOM.contains(range.anchorNode) || !view.contentDOM.contains(range.focusNode)) return [main.from, main.to];
  return [view.posAtDOM(range.anchorNode, range.anchorOffset), view.posAtDOM(range.focusNode, range.focusOffset)].sort((a, b) => a - b);
}

/** Replace a selection ourselves: browsers keep the look of what was there by an inline style, which the page's policy forbids. */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (view.composing || event.inputType !== "insertText" || event.data === null) return false;
    const [from, to] = selected(view);
    if (from === to) return false;
    event.preventDefault();
    view.dispatch({ changes: { from, to, insert: event.data }, selection: { anchor: from + event.data.length }, userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export class Editor {
  /** `changed()` is called when the text is another; `submit()` on Ctrl-Enter. */
  constructor(place, { changed, submit }) {
    const root = place.attachShadow({ mode: "open" });
    const box = document.createElement("div");
    root.append(box);
    this.language = new Compartment();
    this.view = new EditorView({
      root,
      parent: box,
      state: EditorState.create({
        extensions: [
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (submit(), true) }])),
          history(), drawSelection(), highlightSpecialChars(), bracketMatching(), closeBrackets(),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
          this.language.of([]), PostgreSQL.extension,
          syntaxHighlighting(colours), look, replacing, EditorView.lineWrapping,
          placeholder("SELECT count(*) FROM …"),
          EditorView.contentAttributes.of({ "aria-label": "SQL statement", autocapitalize: "off", spellcheck: "false" }),
          EditorView.updateListener.of((update) => update.docChanged && changed()),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: text.length } });
  }

  focus() {
    this.view.focus();
  }

  /** Complete these tables, columns, values and functions. */
  know(known) {
    const source = completions(known);
    this.view.dispatch({ effects: this.language.reconfigure([
      PostgreSQL.language.data.of({ autocomplete: source }),
      autocompletion({ icons: false }),
    ]) });
  }

  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.focus();
  }

  /** Mark the place that a message is about; null takes the mark away. */
  mark(place, message) {
    const size = this.view.state.doc.length;
    const [from, to] = (place ?? [0, 0]).map((at) => Math.min(at, size));
    const end = from === to ? Math.min(from + 1, size) : to;
    const marks = place ? [{ from: from === end ? Math.max(0, from - 1) : from, to: end, severity: "error", message }] : [];
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }
}
