/** Assistants: graphs with a configuration and versions of it. The list, one of them, and the form of a new one. */
import type { ViewProps } from "../../app/view-props.ts";
import { Assistant } from "./Assistant.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";

export default function Assistants({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Assistant key={id} id={id} />;
}
