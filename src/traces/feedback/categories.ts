/** Adding and removing categories of a feedback config. */
import type { FeedbackConfig } from "../../db/traces.ts";
import { Problem } from "../../http/problem.ts";

interface Change {
  add: { value: number; label?: string | null | undefined }[];
  remove: number[];
}

/** The fewest categories between which feedback can choose. */
const FEWEST = 2;
const MOST = 100;

/** The config with other categories. @throws Problem 422 when a change does not fit it */
export function changeCategories(config: FeedbackConfig, { add, remove }: Change): FeedbackConfig {
  if (config.type !== "categorical") throw new Problem(422, "Only categorical feedback has categories.");
  const kept = (config.categories ?? []).filter(({ value }) => !remove.includes(value));
  const categories = [...kept, ...add];
  if (categories.length < FEWEST) throw new Problem(422, `At least ${FEWEST} categories must remain.`);
  if (categories.length > MOST) throw new Problem(422, `A config has at most ${MOST} categories.`);
  const labels = categories.flatMap(({ label }) => label ?? []);
  if (new Set(categories.map(({ value }) => value)).size < categories.length || new Set(labels).size < labels.length)
    throw new Problem(422, "Invalid body.add_categories: a value or a label is there twice.");
  return { ...config, categories };
}
