/** One sentence about why a diagram is not drawn, from what Mermaid throws. */

/** Mermaid removes comments, directives and the front matter before it counts lines. */
const REMOVED = /^\s*(%%|---\s*$)/m;
/** Characters of a line that are quoted. */
const QUOTED = 80;

export function describeFault(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith("No diagram type detected")) return "The first line does not name a known type of diagram.";
  if (!/^(parse error|lexical error|parsing failed)/i.test(message)) return firstLine(message);
  const line = Number(/on line (\d+)/i.exec(message)?.[1]);
  if (Number.isNaN(line) || REMOVED.test(text)) return "The diagram has a syntax error.";
  const source = text.split("\n")[line - 1]?.trim() ?? "";
  return source === "" ? "Syntax error at the end." : `Syntax error in line ${line}: ${source.slice(0, QUOTED)}`;
}

function firstLine(message: string): string {
  const [line = ""] = message.trim().split("\n");
  return line === "" ? "The diagram cannot be drawn." : line.slice(0, 200);
}
