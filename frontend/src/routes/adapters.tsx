import { AdapterList } from "@/features/adapters/AdapterList";

export function AdaptersRoute() {
  return <AdapterList />;
}
