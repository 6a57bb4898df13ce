/** When the offline model calls which tool, and its sentence about the result. One entry per tool. */

type Args = Record<string, unknown>;

export interface Call {
  name: string;
  args: Args;
}

interface Rule {
  tool: string;
  /** Ends the sentence "I can …". */
  ability: string;
  /** The tool calls for a request; none when no rule matches. */
  calls(asked: string): Call[];
  /** A sentence about the result. */
  report(args: Args, result: string): string;
}

export const rules: Rule[] = [
  {
    tool: "calculator",
    ability: 'calculate (try "what is 17 * 24?")',
    calls: (asked) => {
      const expression = expressionIn(asked);
      return expression ? [{ name: "calculator", args: { expression } }] : [];
    },
    report: ({ expression }, result) => `${String(expression)} = ${result}.`,
  },
  {
    tool: "current_time",
    ability: 'tell the time (try "what time is it in Tokyo?")',
    calls: (asked) =>
      /\b(time|date|today|o'clock|hour)\b/i.test(asked)
        ? [{ name: "current_time", args: { zone: zoneIn(asked) } }]
        : [],
    report: ({ zone }, result) => `In ${String(zone)} it is ${result}.`,
  },
  {
    tool: "send_email",
    ability: 'draft an email for you to approve (try "write to ada@example.com that the build is green")',
    calls: (asked) => {
      if (!/\b(e-?mail|mail|send|write|tell|invite|remind)\b/i.test(asked)) return [];
      const to = /[\w.+-]+@[\w-]+(\.[\w-]+)+/.exec(asked)?.[0] ?? "team@example.com";
      const said = /\b(?:that|saying|say)\s+(.+)$/is.exec(asked)?.[1] ?? asked;
      const body = said.charAt(0).toUpperCase() + said.slice(1);
      return [{ name: "send_email", args: { to, subject: body.split(/\s+/).slice(0, 6).join(" "), body } }];
    },
    report: (_args, result) => result,
  },
  {
    tool: "task",
    ability: "hand a question to a researcher and a critic (ask one)",
    calls: (asked) =>
      asked.length < 12
        ? []
        : [
            {
              name: "task",
              args: { subagent_type: "researcher", description: `Collect the facts, with the date of today: ${asked}` },
            },
            { name: "task", args: { subagent_type: "critic", description: `Look for weak points: ${asked}` } },
          ],
    report: ({ subagent_type }, result) => `The ${String(subagent_type)} reports: ${result}`,
  },
];

const WORDS: [RegExp, string][] = [
  [/\b(times|multiplied by)\b/gi, "*"],
  [/\bplus\b/gi, "+"],
  [/\bminus\b/gi, "-"],
  [/\bdivided by\b/gi, "/"],
  [/\bto the power of\b/gi, "^"],
];

/** The longest run of arithmetic in a text that joins at least two numbers. */
function expressionIn(asked: string): string | undefined {
  const text = WORDS.reduce((said, [word, sign]) => said.replace(word, sign), asked);
  const candidates = text.match(/[-(\d][\d\s().+*/^%-]*[\d)]/g) ?? [];
  return candidates.filter((part) => /\d[\s)]*[+*/^%-][\s(-]*\d/.test(part)).sort((a, b) => b.length - a.length)[0];
}

/** The IANA zone that a text names, whole or by its city. */
function zoneIn(asked: string): string {
  const said = asked.toLowerCase();
  const named = Intl.supportedValuesOf("timeZone").find(
    (zone) => said.includes(zone.toLowerCase()) || toCityPattern(zone).test(said),
  );
  return named ?? "UTC";
}

function toCityPattern(zone: string): RegExp {
  return new RegExp(
    `\\b${zone
      .split("/")
      .at(-1)
      ?.replaceAll("_", " ")
      .toLowerCase()
      .replaceAll(/[^\w ]/g, ".")}\\b`,
  );
}
