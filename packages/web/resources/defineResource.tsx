/** A view of a resource from one definition: the list, a new item, and one of them. Each may be a component of its own. */
import type { ComponentType } from "react";
import type { ViewProps } from "../app/view-props.ts";
import { type EditableItem, makeItemPage } from "./ItemPage.tsx";
import { type ListDefinition, makeListPage, type Resource } from "./ListPage.tsx";
import { type FormProps, type NewDefinition, makeNewPage } from "./NewPage.tsx";

interface Views<Row> {
  list: ListDefinition<Row> | ComponentType;
  item: ComponentType<{ id: string }>;
  /** At `<path>/new`. Left out: the page makes no item. */
  create?: ComponentType;
}

export function defineResource<Row>(resource: Resource, { list, item: Item, create: Create }: Views<Row>) {
  const List = typeof list === "function" ? list : makeListPage(resource, list);
  return function ResourceView({ id }: ViewProps) {
    if (id === undefined) return <List />;
    return id === "new" && Create ? <Create /> : <Item key={id} id={id} />;
  };
}

/** A resource whose items are made and edited by the same form. */
export function defineEditableResource<Row, Draft, Known>(
  resource: Resource,
  {
    list,
    item,
    create,
    Form,
  }: {
    list: ListDefinition<Row>;
    item: EditableItem<Row, Draft>;
    create: NewDefinition<Draft, Known>;
    Form: ComponentType<FormProps<Row, Draft>>;
  },
) {
  return defineResource(resource, {
    list,
    item: makeItemPage(resource, item, Form),
    create: makeNewPage(resource, create, Form),
  });
}
