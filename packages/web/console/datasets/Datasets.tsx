/** Datasets: the list, a new one, and the examples of one. */
import type { ViewProps } from "../../app/view-props.ts";
import { Dataset } from "./Dataset.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";

export default function Datasets({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Dataset key={id} id={id} />;
}
