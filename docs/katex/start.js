// Formulas are typeset when a page has been loaded; KaTeX lies beside the pages, so this works offline.
document.addEventListener("DOMContentLoaded", () => renderMathInElement(document.body, {
  delimiters: [{ left: "\\[", right: "\\]", display: true }, { left: "\\(", right: "\\)", display: false }],
  throwOnError: false,
}));
