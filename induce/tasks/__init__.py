"""Tasks other than parsing text, with known structures: ListOps, logic, Craft and sentence similarity."""
