import { Start } from "@/features/start/Start";

export function StartRoute() {
  return <Start />;
}
