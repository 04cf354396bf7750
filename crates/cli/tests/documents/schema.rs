//! A validator for the part of JSON Schema (draft 2020-12) that `docs/run.schema.json` uses. An unknown keyword
//! is an error, so that nothing in the schema goes unchecked.

use serde_json::{Map, Value, json};

/// Keywords without effect on validity.
const ANNOTATIONS: [&str; 5] = ["$schema", "$defs", "$comment", "title", "description"];

/// The errors of a value, each with place and reason. Empty where the value is valid.
pub(crate) fn errors(root: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, root, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        if *schema == json!(false) {
            found.push(format!("{place}: not allowed"));
        }
        return;
    };
    for (keyword, of) in keywords {
        let is_valid = match keyword.as_str() {
            "type" => names(of).iter().any(|name| is_of_type(value, name)),
            "enum" => of.as_array().is_some_and(|words| words.contains(value)),
            "const" => of == value,
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= of.as_f64()),
            "minItems" => value.as_array().is_none_or(|items| Some(items.len() as u64) >= of.as_u64()),
            "maxItems" => value.as_array().is_none_or(|items| Some(items.len() as u64) <= of.as_u64()),
            "required" => {
                value.as_object().is_none_or(|object| names(of).iter().all(|name| object.contains_key(*name)))
            }
            "properties" | "additionalProperties" => {
                members(root, keywords, keyword, value, place, found);
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, of, item, &format!("{place}/{index}"), found);
                }
                true
            }
            "$ref" => {
                let pointer = of.as_str().and_then(|text| text.strip_prefix('#')).unwrap_or("/nowhere");
                check(root, root.pointer(pointer).unwrap_or(&json!(false)), value, place, found);
                true
            }
            known => ANNOTATIONS.contains(&known),
        };
        if !is_valid {
            found.push(format!("{place}: {keyword} {of}"));
        }
    }
}

fn members(
    root: &Value,
    keywords: &Map<String, Value>,
    keyword: &str,
    value: &Value,
    place: &str,
    found: &mut Vec<String>,
) {
    let named = keywords.get("properties").and_then(Value::as_object);
    for (name, member) in value.as_object().into_iter().flatten() {
        let own = named.and_then(|named| named.get(name));
        let schema = if keyword == "properties" { own } else { keywords.get(keyword).filter(|_| own.is_none()) };
        if let Some(schema) = schema {
            check(root, schema, member, &format!("{place}/{name}"), found);
        }
    }
}

fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        word => word.as_str().into_iter().collect(),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => false,
    }
}

/// A value with every property that a schema names.
pub(crate) fn example(root: &Value, schema: &Value) -> Value {
    if let Some(pointer) = schema["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
        return example(root, root.pointer(pointer).unwrap_or(&Value::Null));
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match names(&schema["type"]).first() {
        Some(&"object") => {
            let named = schema["properties"].as_object().into_iter().flatten();
            let mut object: Map<String, Value> = named.map(|(name, of)| (name.clone(), example(root, of))).collect();
            if schema["additionalProperties"].is_object() {
                // A number as text is a valid key for every kind of map.
                object.insert("7".to_owned(), example(root, &schema["additionalProperties"]));
            }
            Value::Object(object)
        }
        Some(&"array") => {
            let count = schema["minItems"].as_u64().unwrap_or(1);
            (0..count).map(|_| example(root, &schema["items"])).collect()
        }
        Some(&"string") => json!("2026-01-01T00:00:00Z"),
        Some(&"boolean") => json!(true),
        Some(&"integer") => json!(1),
        Some(&"number") => json!(1.5),
        _ => Value::Null,
    }
}
