//! The page's data is what the report says, and stays inside its script elements.
