/** The page of a new item of a resource. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ComponentType, ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import type { Resource } from "./ListPage.tsx";
import { Back, Page } from "./Page.tsx";
import { Loaded } from "./states.tsx";

export interface FormProps<Row, Draft> {
  /** Left out: the item is new. */
  row?: Row;
  start: Draft;
  /** Throws what is wrong. */
  onSave: (draft: Draft) => Promise<void>;
  onCancel: () => void;
}

/** A new item by a form that also edits items. */
export interface NewDefinition<Draft, Known> {
  purpose: string;
  /** Data that a draft is made of, such as the projects to choose from. */
  useKnown: () => UseQueryResult<Known>;
  /** The name of these data in the text of a failure. */
  what: string;
  /** @param params of the address, which choose what the form begins with */
  newDraft: (known: Known, params: URLSearchParams) => Draft;
  /** Gives the id of the item. */
  create: (draft: Draft) => Promise<string>;
}

export function NewPage({
  resource: { path, name, one },
  purpose,
  children,
}: {
  resource: Resource;
  purpose: string;
  children: ReactNode;
}) {
  return (
    <Page title={`New ${one}`} purpose={purpose} back={<Back href={path} name={name} />}>
      {children}
    </Page>
  );
}

export function makeNewPage<Row, Draft, Known>(
  resource: Resource,
  { useKnown, ...definition }: NewDefinition<Draft, Known>,
  Form: ComponentType<FormProps<Row, Draft>>,
) {
  return function NewFormPage() {
    const [, navigate] = useLocation();
    const params = new URLSearchParams(useSearch());
    const known = useKnown();
    return (
      <NewPage resource={resource} purpose={definition.purpose}>
        <Loaded query={known} what={definition.what}>
          {(data) => (
            <Form
              start={definition.newDraft(data, params)}
              onSave={async (draft) => navigate(`${resource.path}/${await definition.create(draft)}`)}
              onCancel={() => navigate(resource.path)}
            />
          )}
        </Loaded>
      </NewPage>
    );
  };
}
