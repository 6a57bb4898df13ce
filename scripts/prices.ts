/** `node scripts/prices.ts`: writes docs/prices.md from the table of prices. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Price, PRICES, PRICES_DATE, PRICES_SOURCES } from "../src/limits/prices/price-list.ts";

export const PAGE = join(import.meta.dirname, "..", "docs", "prices.md");

/** Columns after the model: the member of a price, and its heading. */
const COLUMNS: [keyof Price, string][] = [
  ["input", "Input"],
  ["output", "Output"],
  ["cached_input", "Cached input"],
  ["cache_write", "Cache write"],
  ["audio_input", "Audio input"],
  ["audio_output", "Audio output"],
  ["reasoning", "Reasoning"],
];

/** A table of Markdown, in the form that the formatter gives it. */
function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(3, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map((row) => line(row))].join("\n");
}

export function prices(): string {
  const rows = PRICES.map((price) => [
    price.provider ?? "any",
    `\`${price.model.replaceAll("|", "\\|")}\``,
    ...COLUMNS.map(([member]) => String(price[member] ?? "")),
  ]);
  const sources = Object.entries(PRICES_SOURCES).map(([name, url]) => `[${name}](${url})`);
  return `# Prices of models

What a model call costs, for [traces](traces.md) and [budgets](budgets.md). US dollars for a million tokens, as the providers published them until ${PRICES_DATE}:
${sources.join(", ")}. This page is made from [price-list.ts](../src/limits/prices/price-list.ts) by \`node scripts/prices.ts\`.

The first row that matches counts. \`Provider\` is LangChain's \`ls_provider\`. \`Model\` is a regular expression for the whole of \`ls_model_name\`.

- **Cached input** are tokens that were read from the provider's cache (\`input_token_details.cache_read\`), **cache write** those
  written to it (\`cache_creation\`). An empty cell: as the input.
- **Audio** are the tokens of audio in the input and the output (\`audio\`). An empty cell: as the input and the output.
- **Reasoning** is a part of the output (\`output_token_details.reasoning\`). An empty cell: as the output.
- Prices by the length of a prompt, of batches and of service tiers are not in the table: it has the usual price of the shortest prompts.

## Own prices

A model of which no row matches has no costs, and no budget in dollars counts it. Add prices, or replace those of the table:

- **Of a workspace**: \`PUT /api/v1/prices\` with \`{"prices": [{"model": "my-model*", "input": 1, "output": 4}]}\`. The request replaces all prices of the
  workspace. \`model\` is a name, or the beginning of names and a \`*\`. \`provider\`, \`cached_input\`, \`cache_write\`, \`audio_input\`, \`audio_output\` and
  \`reasoning\` are optional. They count before all others, for budgets. It needs \`flow.manage\`.
- **Of a deployment**: the variable \`TRACE_PRICES\`, a JSON list of the same members, with a regular expression as \`model\`. They count for traces
  and budgets.

\`GET /api/v1/prices\` lists all three in the order in which they are searched.

## The table

${table([["Provider", "Model", ...COLUMNS.map(([, heading]) => heading)], ...rows])}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, prices());
