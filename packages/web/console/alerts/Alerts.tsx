/** Alerts on traced runs: the list, a new one, and one of them. */
import type { ViewProps } from "../../app/view-props.ts";
import { Alert } from "./Alert.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";

export default function Alerts({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Alert key={id} id={id} />;
}
