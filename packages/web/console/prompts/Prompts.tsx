/** Prompts: which there are, and one of them with its commits and tags. */
import type { ViewProps } from "../../app/view-props.ts";
import { List } from "./List.tsx";
import { Prompt } from "./Prompt.tsx";

export default function Prompts({ id }: ViewProps) {
  return id === undefined ? <List /> : <Prompt key={id} name={id} />;
}
