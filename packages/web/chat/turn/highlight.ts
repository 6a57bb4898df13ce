/** Colour for code, loaded when the first block of code is done. */
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({ bash, css, diff, go, json, python, rust, sql, typescript, xml, yaml });
lowlight.registerAlias({ bash: ["shell", "console"], typescript: ["javascript", "js", "jsx", "tsx"] });

/** The text as a tree of classed spans, or undefined for a language that is not carried. */
export function highlight(text: string, language: string) {
  return lowlight.registered(language) ? lowlight.highlight(language, text).children : undefined;
}
