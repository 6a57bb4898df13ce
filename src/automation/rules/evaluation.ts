/** What an evaluator answers, as feedback. */
import { isObject } from "../../lib/json.ts";
import { Final } from "../../rules/errors.ts";

export interface Score {
  key: string;
  score?: number | boolean;
  value?: string | number | boolean | Record<string, unknown>;
  comment?: string;
}

/** The most keys of one answer. */
const MOST_SCORES = 20;
const MOST_COMMENT = 100_000;
/** Members that explain the others. */
const COMMENTS = ["comment", "reasoning", "explanation"];

/**
 * The scores of an answer: `{key, score, value?, comment?}`, a list of such objects (also as `results`), or an object whose members
 * are keys with their scores, beside `comment`.
 */
export function parseScores(answer: unknown): Score[] {
  const scores = read(answer);
  if (scores.length > MOST_SCORES) throw new Final(`The evaluator answered more than ${MOST_SCORES} scores.`);
  return scores;
}

function read(answer: unknown): Score[] {
  if (answer === undefined || answer === null) return [];
  if (Array.isArray(answer)) return answer.flatMap(read);
  if (!isObject(answer)) throw new Final("The evaluator answered neither an object nor a list of objects.");
  if (Array.isArray(answer["results"])) return answer["results"].flatMap(read);
  const comment = COMMENTS.flatMap((name) => (typeof answer[name] === "string" ? [answer[name]] : []))[0];
  const said = comment === undefined ? {} : { comment: comment.slice(0, MOST_COMMENT) };
  const { key, score, value } = answer;
  if (typeof key === "string") {
    return [{ key: toFeedbackKey(key), ...parseScore(key, score), ...parseValue(value), ...said }];
  }
  return Object.entries(answer)
    .filter(([name]) => !COMMENTS.includes(name))
    .map(([name, value]) => ({ key: toFeedbackKey(name), ...parseFigure(name, value), ...said }));
}

function toFeedbackKey(name: string): string {
  if (name.length >= 1 && name.length <= 180) return name;
  throw new Final("A key of feedback has 1 to 180 characters.");
}

function parseScore(key: string, score: unknown): Pick<Score, "score"> {
  if (score === undefined || score === null) return {};
  if (typeof score === "boolean" || (typeof score === "number" && Number.isFinite(score))) return { score };
  throw new Final(`The score of ${key.slice(0, 80)} is neither a number nor true or false.`);
}

function parseValue(value: unknown): Pick<Score, "value"> {
  if (value === undefined || value === null) return {};
  return { value: typeof value === "string" ? value.slice(0, MOST_COMMENT) : (value as Score["value"]) };
}

/** A member of a judge's answer: a number or a boolean is a score, a text a value. */
function parseFigure(key: string, value: unknown): Pick<Score, "score" | "value"> {
  return typeof value === "string" ? { value: value.slice(0, MOST_COMMENT) } : parseScore(key, value);
}
