import { Link } from "wouter";
import { Page } from "../resources/Page.tsx";
import { Empty } from "../resources/states.tsx";

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty title="No page has this address." text="Check the address, or choose a page from the navigation.">
        <p>
          <Link href="/">Open the start page</Link>
        </p>
      </Empty>
    </Page>
  );
}
