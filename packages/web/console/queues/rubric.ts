/** The rubric of a queue: keys of feedback, and the scores that each takes. */

export interface Config {
  type: "continuous" | "categorical" | "freeform";
  min?: number | null;
  max?: number | null;
  categories?: { value: number; label?: string | null }[] | null;
}

export interface RubricItem {
  feedback_key: string;
  description?: string | null;
  is_required?: boolean;
  feedback_config: { feedback_config: Config } | null;
}

interface Choice {
  score: number;
  label: string;
}

/** A key without a configuration is good or bad, as the thumbs are. */
const GOOD_OR_BAD: Choice[] = [
  { score: 0, label: "Bad" },
  { score: 1, label: "Good" },
];

/** The most buttons of a key: one for each digit. */
const MOST = 10;

/** The scores of a key as buttons; undefined where any number, or a text, is given. */
export function listChoices({ feedback_config }: Pick<RubricItem, "feedback_config">): Choice[] | undefined {
  const config = feedback_config?.feedback_config;
  if (!config) return GOOD_OR_BAD;
  if (config.type === "categorical")
    return config.categories?.map(({ value, label }) => ({ score: value, label: label ?? String(value) }));
  const { min, max } = config;
  const isShort =
    config.type === "continuous" && Number.isInteger(min) && Number.isInteger(max) && Number(max) - Number(min) < MOST;
  if (!isShort) return undefined;
  return Array.from({ length: Number(max) - Number(min) + 1 }, (_, i) => {
    const score = Number(min) + i;
    return { score, label: String(score) };
  });
}

export const isText = ({ feedback_config }: RubricItem) => feedback_config?.feedback_config.type === "freeform";

/** The choice that a digit takes: 1 is the first, 0 the tenth. Numbers of a scale are taken by their own digit. */
export function choiceAt(choices: Choice[], digit: number): Choice | undefined {
  const isScale = choices.every(({ score, label }) => label === String(score) && score >= 0 && score < MOST);
  return isScale ? choices.find(({ score }) => score === digit) : choices[(digit + MOST - 1) % MOST];
}

/** The digit of a choice, which its button shows. */
export function findDigit(choices: Choice[], choice: Choice): number | undefined {
  return Array.from({ length: MOST }, (_, digit) => digit).find((digit) => choiceAt(choices, digit) === choice);
}

/** Kinds of scores that a new key can have. */
export const KINDS = ["good-bad", "one-to-five", "choices", "text"] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_WORDS: Record<Kind, string> = {
  "good-bad": "Bad or good",
  "one-to-five": "1 to 5",
  choices: "Named choices",
  text: "Text",
};

export function buildConfig(kind: Kind, labels: string): Config {
  if (kind === "text") return { type: "freeform" };
  if (kind === "one-to-five") return { type: "continuous", min: 1, max: 5 };
  const names = kind === "good-bad" ? ["Bad", "Good"] : labels.split(",").map((label) => label.trim());
  return { type: "categorical", categories: names.filter(Boolean).map((label, value) => ({ value, label })) };
}
