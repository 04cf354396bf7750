//! How does my code compare? The ratios that `measure --against` found, which are stored in its run.

use syncscope_core::run::OwnComparison;

use super::prelude::*;

pub(super) const SENTENCES: Sentences = &[sentence(in_turn, &[])];

/// The comparisons of each pair of operations, the case with the most threads last.
fn pairs(data: &RunData) -> Vec<Vec<&OwnComparison>> {
    let mut pairs: Vec<Vec<&OwnComparison>> = Vec::new();
    for one in &data.run.compared {
        match pairs.last_mut().filter(|known| (&known[0].first, &known[0].other) == (&one.first, &one.other)) {
            Some(own) => own.push(one),
            None => pairs.push(vec![one]),
        }
    }
    for own in &mut pairs {
        own.sort_by_key(|one| (one.blocks, one.threads));
    }
    pairs
}

/// The rows of an operation with these parameters, or all of its rows.
fn rows(data: &RunData, id: &str, parameters: Option<&str>) -> Vec<usize> {
    let fits = |row: &Row| row.case.primitive == id && parameters.is_none_or(|wanted| wanted == row.case.parameters());
    data.rows_where(fits).collect()
}

fn in_turn(data: &RunData) -> Option<Outcome> {
    let all = pairs(data);
    let lead = &all.first()?[0].first;
    let said = |(at, own): (usize, &Vec<&OwnComparison>)| {
        let of = |one: &OwnComparison| format!("{} with {}", one.words, one.parameters);
        let last = own.last()?;
        let alone = own.first().filter(|one| one.parameters != last.parameters).map(|one| format!("; {}", of(one)));
        // The first sentence names the operation for those after it.
        let against =
            if at > 0 && last.first == *lead { "Against".to_owned() } else { format!("{} against", last.first) };
        Some(format!("{against} {}: {}{}", last.other, of(last), alone.unwrap_or_default()))
    };
    let sentences: Vec<String> = all.iter().enumerate().filter_map(said).collect();
    if data.run.compared.iter().all(|one| one.ratio.is_none()) {
        return Some(Outcome::open(sentences.join(". ")));
    }
    let mut sentences = sentences.into_iter().map(|text| format!("{text}."));
    // As in the words, a ratio above 1 is the advantage of the faster one.
    let told = |one: &OwnComparison| {
        let is_faster = one.is_faster.unwrap_or(one.high.is_some_and(|high| high < 1.0));
        one.ratio.map(|ratio| if is_faster { ratio.recip() } else { ratio })
    };
    let ratio = told(all.first()?.last()?).map_or_else(String::new, |ratio| format!("{} times", figure::ratio(ratio)));
    let ids = all.iter().flat_map(|own| [&own[0].first, &own[0].other]);
    let rows: BTreeSet<usize> = ids.flat_map(|id| rows(data, id, None)).collect();
    Some(Outcome::holds(sentences.next()?, rows).headed(ratio).followed_by(sentences))
}

/// The ratios over the threads, or over the blocks if only these vary.
pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let all = pairs(data);
    let threads: BTreeSet<Option<u32>> = data.run.compared.iter().map(|one| one.threads).collect();
    let (label, x): (_, fn(&OwnComparison) -> Option<u32>) =
        if threads.len() > 1 { ("threads", |one| one.threads) } else { ("blocks", |one| one.blocks.or(one.threads)) };
    let series = |own: &Vec<&OwnComparison>| {
        let point = |one: &&OwnComparison| {
            let tip = format!("{}: {}", one.parameters, one.words);
            let row = rows(data, &one.first, Some(&one.parameters)).first().copied();
            let point = Point::plain(x(one).unwrap_or(1).into(), one.ratio?, one.low.zip(one.high), tip);
            Some(Point { row, text: Some(one.words.clone()), ..point })
        };
        let points = own.iter().filter_map(point).collect();
        Series { label: format!("over {}", own[0].other), primitive: None, colour: None, points }
    };
    let all: Vec<Series> = all.iter().map(series).collect();
    let axis = Axis::log("cost relative to the other", Unit::Ratio);
    let is_line = all.iter().any(|one| one.points.len() > 1);
    let chart = if is_line { Spec::lines(Axis::log(label, Unit::Count), axis, all) } else { Spec::dots(axis, all) };
    Picture::of([chart], "No case was compared.", [Some("Above 1 the first operation costs more.".to_owned())])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, decision, row, said_of};
    use super::*;

    #[test]
    fn the_ratio_leads_with_its_interval() {
        let mut run = data([1, 4].map(|threads| row(case("cpu.own.mine", threads), 20.0, 0.1)).to_vec());
        assert_eq!(said_of(in_turn, &run), None, "nothing was compared");
        let of = |threads: u32, ratio: f64| OwnComparison {
            first: "cpu.own.mine".to_owned(),
            other: "cpu.lock.ticket".to_owned(),
            parameters: run.rows[usize::from(threads > 1)].case.parameters(),
            threads: Some(threads),
            ratio: Some(ratio),
            low: Some(ratio - 0.1),
            high: Some(ratio + 0.1),
            words: format!("{ratio:.3} times as expensive"),
            ..OwnComparison::default()
        };
        run.run.compared = vec![of(4, 2.0), of(1, 1.5)];
        let text = "cpu.own.mine against cpu.lock.ticket: 2.000 times as expensive with 4 threads; 1.500 times as expensive with 1 thread.";
        assert_eq!(said_of(in_turn, &run), Some(Ok(text.to_owned())));
        let card = decision("decide-own", &run).unwrap();
        let [Spec::Lines { series, y, .. }] = card.charts.as_slice() else { panic!("a line over threads") };
        let points: Vec<_> = series[0].points.iter().map(|one| (one.x, one.y, one.low, one.row)).collect();
        assert_eq!(points, [(Some(1.0), Some(1.5), Some(1.4), Some(0)), (Some(4.0), Some(2.0), Some(1.9), Some(1))]);
        assert_eq!(y.unit, Unit::Ratio);
        let headline = |is_faster| {
            let faster = OwnComparison { is_faster, words: "twice as fast".to_owned(), ..of(4, 0.5) };
            let record = syncscope_core::Run { compared: vec![faster], ..run.run.clone() };
            in_turn(&crate::RunData { run: record, ..run.clone() }).unwrap().headline
        };
        assert_eq!([Some(true), None, Some(false)].map(headline), ["2.00×", "2.00×", "0.500×"]);
        run.run.compared.truncate(1);
        let unknown = OwnComparison { ratio: None, words: "not comparable".to_owned(), ..run.run.compared[0].clone() };
        let open =
            crate::RunData { run: syncscope_core::Run { compared: vec![unknown], ..run.run.clone() }, ..run.clone() };
        assert!(said_of(in_turn, &open).unwrap().is_err());
        assert!(matches!(decision("decide-own", &run).unwrap().charts.as_slice(), [Spec::Dots { .. }]));
    }
}
