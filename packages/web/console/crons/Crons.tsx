/** Crons: runs that start by the clock. The list, one of them, and the form of a new one. */
import type { ViewProps } from "../../app/view-props.ts";
import { Cron } from "./Cron.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";

export default function Crons({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Cron key={id} id={id} />;
}
