/** An answer with what Markdown has: a diagram, a formula, a table and code. */
export const ANSWER = `A refund goes through **three checks**, as the policy of \`2026-04\` says:

\`\`\`mermaid
flowchart LR
  ask[Refund asked] --> order{Order found?}
  order -->|no| person[Ask a person]
  order -->|yes| limit{Above 50 EUR?}
  limit -->|yes| person
  limit -->|no| pay[Pay back]
\`\`\`

The fee of a refund of $x$ EUR is

$$f(x) = \\frac{x}{100} + \\sqrt{x + 4}$$

| Order | Customer | Paid | Refund |
|---|---|---:|---:|
| 1182 | Ada | 84.20 | 84.20 |
| 1190 | Grace | 12.00 | 0.00 |

\`\`\`ts
const fee = (x: number) => x / 100 + Math.sqrt(x + 4); // in EUR
\`\`\`
`;
