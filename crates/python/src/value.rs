//! Values: converts property values from Python and back.
//!
//! | property | from Python | to Python |
//! |---|---|---|
//! | bool | `bool`, `numpy.bool` | `bool` |
//! | byte, short, int, long | `int`, NumPy integers (in their own width) | `int` |
//! | bigint | an `int` beyond 64 bits | `int` |
//! | float, double | `float`, NumPy floats (in their own width) | `float` |
//! | decimal | `decimal.Decimal` | the same |
//! | char, string | `str` | `str` |
//! | bytes | `bytes`, `bytearray` | `bytes` |
//! | date | `datetime.date` | the same; beyond its years a `LimitError` |
//! | datetime | `datetime.datetime`; a naive one is in UTC | aware, in microseconds |
//! | duration | `datetime.timedelta`, which is seconds, `evergraph.Duration` | the former of seconds alone |
//! | uuid | `uuid.UUID` | the same |
//! | list, set, map | `list` and `tuple`, `set` and `frozenset`, `dict` | `list`, `set`, `dict` |

use crate::error::{exception, invalid};
use evergraph::Value;
use evergraph::graph::value::collection::{List, Map, Set};
use evergraph::graph::value::date::Date;
use evergraph::graph::value::datetime::DateTime;
use evergraph::graph::value::duration::Duration;
use evergraph::graph::value::number::{BigInteger, Decimal};
use num_bigint::BigInt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PySet, PyString, PyTuple};
use std::fmt::Display;
use uuid::Uuid;

/// Days from 0001-01-01 to 1970-01-01, as `datetime.date.toordinal` counts.
const ORDINAL_OF_1970: i64 = 719_163;

/// The classes that values are told apart by.
struct Classes {
    date: Py<PyAny>,
    datetime: Py<PyAny>,
    timedelta: Py<PyAny>,
    timezone: Py<PyAny>,
    decimal: Py<PyAny>,
    uuid: Py<PyAny>,
    duration: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| Ok::<_, PyErr>(py.import(module)?.getattr(name)?.unbind());
        Ok(Classes {
            date: class("datetime", "date")?,
            datetime: class("datetime", "datetime")?,
            timedelta: class("datetime", "timedelta")?,
            timezone: class("datetime", "timezone")?,
            decimal: class("decimal", "Decimal")?,
            uuid: class("uuid", "UUID")?,
            duration: class("evergraph.values", "Duration")?,
        })
    })
}

/// What a property holds that is set to `object`.
///
/// # Errors
/// `InvalidError` for what no property can hold.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return integer(number);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::from(text.to_cow()?.as_ref()));
    }
    // NumPy's float64 is a float too, and of the same width.
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Value::F64(number.value()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::from(bytes.as_bytes()));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return collection(object.py(), List::new(each(list.iter())?).map(Value::List));
    }
    if let Ok(tuple) = object.cast::<PyTuple>()
        && !is(object, &classes(object.py())?.duration)?
    {
        return collection(object.py(), List::new(each(tuple.iter())?).map(Value::List));
    }
    if let Ok(map) = object.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok::<_, PyErr>((from_python(&key)?, from_python(&value)?))
        };
        let entries = map.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
        return collection(object.py(), Map::new(entries).map(Value::Map));
    }
    rare(object)
}

fn rare(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    let classes = classes(py)?;
    let is_moment = is(object, &classes.datetime)?;
    if (is_moment || is(object, &classes.timedelta)?) && object.ne(object)? {
        return Err(invalid(py, "NaT is not a value: leave the property out"));
    }
    if is_moment {
        return datetime(object);
    }
    if is(object, &classes.date)? {
        let ordinal: i64 = object.call_method0(intern!(py, "toordinal"))?.extract()?;
        return Ok(Value::Date(Date::from_days((ordinal - ORDINAL_OF_1970) as i32)));
    }
    if is(object, &classes.timedelta)? {
        // A day of Python's is 24 hours: it is no day of a calendar, as one of a duration is.
        let part = |name| -> PyResult<i64> { object.getattr(name)?.extract() };
        let seconds = part(intern!(py, "days"))? * 86_400 + part(intern!(py, "seconds"))?;
        let micros: u32 = object.getattr(intern!(py, "microseconds"))?.extract()?;
        let nanos = of_pandas(object, intern!(py, "nanoseconds"))?;
        return fits(py, Duration::new(0, 0, seconds, micros * 1_000 + nanos));
    }
    if is(object, &classes.duration)? {
        let (months, days, seconds, nanoseconds) = object.extract()?;
        return fits(py, Duration::new(months, days, seconds, nanoseconds));
    }
    if is(object, &classes.decimal)? {
        let text = object.str()?;
        return fits(py, text.to_cow()?.parse::<Decimal>());
    }
    if is(object, &classes.uuid)? {
        let bytes: [u8; 16] = object.getattr(intern!(py, "bytes"))?.extract()?;
        return Ok(Value::Uuid(Uuid::from_bytes(bytes)));
    }
    let class = object.get_type();
    let name = class.fully_qualified_name()?;
    let name = name.to_cow()?;
    if matches!(name.as_ref(), "set" | "frozenset") {
        return collection(py, Set::new(each(object.try_iter()?.flatten())?).map(Value::Set));
    }
    if name == "bytearray" {
        return Ok(Value::from(object.extract::<Vec<u8>>()?));
    }
    match name.strip_prefix("numpy.") {
        Some("bool" | "bool_") => Ok(Value::Bool(object.is_truthy()?)),
        Some("int8") => Ok(Value::I8(object.extract()?)),
        Some("int16") => Ok(Value::I16(object.extract()?)),
        Some("int32") => Ok(Value::I32(object.extract()?)),
        Some("float32") => Ok(Value::F32(object.extract()?)),
        Some("int64" | "uint8" | "uint16" | "uint32" | "uint64" | "longlong" | "ulonglong") => {
            integer(object.call_method0(intern!(py, "item"))?.cast::<PyInt>()?)
        }
        _ if object.is_none() => Err(invalid(py, "None is not a value: leave the property out")),
        _ => Err(invalid(
            py,
            format!("a property can't hold a {name}; see `evergraph.values` for what it can"),
        )),
    }
}

fn is(object: &Bound<'_, PyAny>, class: &Py<PyAny>) -> PyResult<bool> {
    object.is_instance(class.bind(object.py()))
}

fn each<'py>(objects: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Value>> {
    objects.map(|object| from_python(&object)).collect()
}

fn collection<E: Display>(py: Python<'_>, made: Result<Value, E>) -> PyResult<Value> {
    made.map_err(|error| invalid(py, error.to_string()))
}

fn fits<T: Into<Value>, E: Display>(py: Python<'_>, made: Result<T, E>) -> PyResult<Value> {
    made.map(Into::into).map_err(|error| invalid(py, error.to_string()))
}

fn integer(number: &Bound<'_, PyInt>) -> PyResult<Value> {
    let py = number.py();
    if let Ok(number) = number.extract::<i64>() {
        return Ok(Value::I64(number));
    }
    let bits: usize = number.call_method0(intern!(py, "bit_length"))?.extract()?;
    let signed = PyDict::new(py);
    signed.set_item(intern!(py, "signed"), true)?;
    let bytes = number.call_method(intern!(py, "to_bytes"), (bits / 8 + 1, "little"), Some(&signed))?;
    fits(py, BigInteger::new(BigInt::from_signed_bytes_le(bytes.cast::<PyBytes>()?.as_bytes())))
}

fn datetime(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    let part = |name: &str| object.getattr(name)?.extract::<i64>();
    let ordinal: i64 = object.call_method0(intern!(py, "toordinal"))?.extract()?;
    let offset = object.call_method0(intern!(py, "utcoffset"))?;
    let offset: i64 = match offset.is_none() {
        true => 0,
        false => {
            let micros: i64 = offset.getattr(intern!(py, "microseconds"))?.extract()?;
            if micros != 0 {
                return Err(invalid(py, "an offset from UTC has whole seconds"));
            }
            let days: i64 = offset.getattr(intern!(py, "days"))?.extract()?;
            days * 86_400 + offset.getattr(intern!(py, "seconds"))?.extract::<i64>()?
        }
    };
    let of_day = part("hour")? * 3_600 + part("minute")? * 60 + part("second")?;
    let seconds = (ordinal - ORDINAL_OF_1970) * 86_400 + of_day - offset;
    let nanoseconds = part("microsecond")? as u32 * 1_000 + of_pandas(object, intern!(py, "nanosecond"))?;
    fits(py, DateTime::new(seconds, nanoseconds, offset as i32))
}

/// The nanoseconds behind the microseconds of a `Timestamp` or a `Timedelta`, which are Python's but for these.
fn of_pandas(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<u32> {
    object.getattr_opt(name)?.map_or(Ok(0), |nanoseconds| nanoseconds.extract())
}

/// `value` as Python has it.
///
/// # Errors
/// `LimitError` for a date or a time beyond Python's.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::I8(number) => number.into_pyobject(py)?.into_any(),
        Value::I16(number) => number.into_pyobject(py)?.into_any(),
        Value::I32(number) => number.into_pyobject(py)?.into_any(),
        Value::I64(number) => number.into_pyobject(py)?.into_any(),
        Value::F32(number) => PyFloat::new(py, f64::from(*number)).into_any(),
        Value::F64(number) => PyFloat::new(py, *number).into_any(),
        Value::BigInteger(number) => {
            let signed = PyDict::new(py);
            signed.set_item(intern!(py, "signed"), true)?;
            let bytes = PyBytes::new(py, &number.as_inner().to_signed_bytes_le());
            py.get_type::<PyInt>().call_method(intern!(py, "from_bytes"), (bytes, "little"), Some(&signed))?
        }
        Value::Decimal(number) => classes(py)?.decimal.bind(py).call1((number.to_string(),))?,
        Value::Char(letter) => PyString::new(py, &letter.to_string()).into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Date(date) => {
            let ordinal = i64::from(date.days()) + ORDINAL_OF_1970;
            let made = classes(py)?.date.bind(py).call_method1(intern!(py, "fromordinal"), (ordinal,));
            made.map_err(|_| beyond(py, value, "datetime.date"))?
        }
        Value::DateTime(moment) => {
            datetime_to_python(py, *moment).map_err(|_| beyond(py, value, "datetime"))?
        }
        Value::Duration(duration) => duration_to_python(py, *duration)?,
        Value::Uuid(uuid) => {
            let bytes = PyDict::new(py);
            bytes.set_item(intern!(py, "bytes"), PyBytes::new(py, uuid.as_bytes()))?;
            classes(py)?.uuid.bind(py).call((), Some(&bytes))?
        }
        Value::List(list) => {
            let items =
                list.as_slice().iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Set(set) => {
            let items =
                set.as_slice().iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PySet::new(py, items)?.into_any()
        }
        Value::Map(map) => {
            let made = PyDict::new(py);
            for (key, value) in map.as_slice() {
                made.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            made.into_any()
        }
    })
}

fn beyond(py: Python<'_>, value: &Value, what: &str) -> PyErr {
    exception(py, "LimitError", &format!("{value} is beyond what a {what} can be"))
}

fn datetime_to_python(py: Python<'_>, moment: DateTime) -> PyResult<Bound<'_, PyAny>> {
    let classes = classes(py)?;
    let delta = classes.timedelta.bind(py);
    let zone = classes.timezone.bind(py);
    let utc = zone.getattr(intern!(py, "utc"))?;
    let zone = match moment.offset_seconds() {
        0 => utc.clone(),
        offset => zone.call1((delta.call1((0, offset))?,))?,
    };
    let days = moment.seconds().div_euclid(86_400);
    let epoch = classes.datetime.bind(py).call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    let since = delta.call1((days, moment.seconds().rem_euclid(86_400), moment.nanoseconds() / 1_000))?;
    epoch.add(since)?.call_method1(intern!(py, "astimezone"), (zone,))
}

fn duration_to_python(py: Python<'_>, duration: Duration) -> PyResult<Bound<'_, PyAny>> {
    let classes = classes(py)?;
    let (months, days) = (duration.months(), duration.days());
    let (seconds, nanoseconds) = (duration.seconds(), duration.nanoseconds());
    if (months, days) == (0, 0)
        && nanoseconds % 1_000 == 0
        && let Ok(delta) = classes.timedelta.bind(py).call1((0, seconds, nanoseconds / 1_000))
    {
        return Ok(delta);
    }
    classes.duration.bind(py).call1((months, days, seconds, nanoseconds))
}
