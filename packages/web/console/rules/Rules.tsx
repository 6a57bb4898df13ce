/** Rules on traced runs: the list, a new one, and one of them. */
import type { ViewProps } from "../../app/view-props.ts";
import { List } from "./List.tsx";
import { New } from "./New.tsx";
import { Rule } from "./Rule.tsx";

export default function Rules({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Rule key={id} id={id} />;
}
