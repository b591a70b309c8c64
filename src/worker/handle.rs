//! A handle that two callers of one process share, on the wire.

use lockproof_lab::client::protocol::{self, HandleValue};
use lockproof_model::lock::{Exchange, Plain};

/// What the other caller has to be given.
pub(super) fn told(exchange: &Exchange) -> protocol::Exchange {
    let value = |plain: &Plain| match plain {
        Plain::Bool(value) => HandleValue::Bool(*value),
        Plain::Number(bits) => HandleValue::Number(f64::from_bits(*bits).to_string()),
        Plain::Text(bytes) => HandleValue::Text(String::from_utf8_lossy(bytes).into_owned()),
    };
    let fields = exchange.fields.iter();
    protocol::Exchange {
        attempt: exchange.attempt,
        stops: (0..8).filter(|id| exchange.stops & 1 << id != 0).collect(),
        fields: fields.map(|(k, v)| (value(k), value(v))).collect(),
    }
}

/// The same read; `None` if it makes no sense.
pub(super) fn taken(exchange: &protocol::Exchange) -> Option<Exchange> {
    let plain = |value: &HandleValue| match value {
        HandleValue::Bool(value) => Some(Plain::Bool(*value)),
        HandleValue::Number(text) => {
            let number: f64 = text.parse().ok()?;
            number.is_finite().then(|| Plain::number(number))
        }
        HandleValue::Text(text) => Some(Plain::Text(text.clone().into_bytes())),
    };
    let fields = exchange.fields.iter();
    let fields = fields.map(|(k, v)| Some((plain(k)?, plain(v)?)));
    let stops = exchange.stops.iter().try_fold(0, |set, id| {
        let bit = 1u8.checked_shl(u32::from(*id))?;
        Some(set | bit)
    });
    Some(Exchange {
        attempt: exchange.attempt,
        stops: stops?,
        fields: fields.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_is_what_comes() {
        let text = |text: &str| Plain::Text(text.as_bytes().to_vec());
        let exchange = Exchange {
            attempt: true,
            stops: 0b1010,
            fields: vec![
                (text("holds"), Plain::number(0.1 + 0.2)),
                (Plain::number(-1e300), Plain::Bool(true)),
                (text("token"), text("t-1")),
            ],
        };
        assert_eq!(taken(&told(&exchange)), Some(exchange));
    }

    #[test]
    fn numbers_and_threads_that_are_none_are_not_taken() {
        let odd = |stops: Vec<u8>, number: &str| protocol::Exchange {
            attempt: false,
            stops,
            fields: vec![(
                HandleValue::Text("n".into()),
                HandleValue::Number(number.into()),
            )],
        };
        assert_eq!(taken(&odd(vec![200], "1")), None);
        assert_eq!(taken(&odd(vec![1], "NaN")), None);
        assert_eq!(taken(&odd(vec![1], "")), None);
    }
}
