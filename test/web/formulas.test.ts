import { expect, it } from "vitest";
import { withFormulas } from "../../packages/web/chat/turn/formulas.ts";

it.each([
  ["the area is $a^2$.", "the area is $$a^2$$."],
  ["so \\(x = 1\\) holds", "so $$x = 1$$ holds"],
  ["\\[\nx = 1\n\\]", "\n$$\nx = 1\n$$\n"],
  ["$$\n\\frac{1}{2}\n$$", "$$\n\\frac{1}{2}\n$$"],
  ["with $n$ rows", "with $$n$$ rows"],
])("finds formulas: %j", (text, expected) => {
  expect(withFormulas(text)).toBe(expected);
});

it.each([
  "It costs $5 and then $6.",
  "It costs $5 or 6$ here.",
  "Set `$a_1$` in the shell",
  "echo $HOME and $PATH",
  "no formula",
  "a \\ b",
  "$10-$20",
])("leaves the rest alone: %j", (text) => {
  expect(withFormulas(text)).toBeUndefined();
});
