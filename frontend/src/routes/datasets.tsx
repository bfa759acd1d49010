export function DatasetsRoute() {
  return null;
}
export function DatasetRoute() {
  return null;
}
